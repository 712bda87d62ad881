// SPDX-License-Identifier: MIT

// Calls examples/grpc.c as a client of grpc-go: client address [certificate].
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
)

// number is the message Number, encoded by hand.
type number uint64

type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	n := *v.(*number)
	if n == 0 {
		return nil, nil
	}
	return binary.AppendUvarint([]byte{8}, uint64(n)), nil
}

func (codec) Unmarshal(data []byte, v any) error {
	n := v.(*number)
	*n = 0
	if len(data) == 0 {
		return nil
	}
	value, octets := binary.Uvarint(data[1:])
	if data[0] != 8 || octets != len(data)-1 {
		return errors.New("not a Number")
	}
	*n = number(value)
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect(holds bool, format string, words ...any) {
	if !holds {
		must(fmt.Errorf(format, words...))
	}
}

var ctx, _ = context.WithTimeout(context.Background(), time.Minute)
var both = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

func square(conn *grpc.ClientConn, n number) (number, error) {
	var answer number
	return answer, conn.Invoke(ctx, "/Numbers/Square", &n, &answer)
}

// received reads messages until the status.
func received(stream grpc.ClientStream) []number {
	var all []number
	for {
		var n number
		err := stream.RecvMsg(&n)
		if err == io.EOF {
			return all
		}
		must(err)
		all = append(all, n)
	}
}

func streamed(conn *grpc.ClientConn, method string, asked ...number) []number {
	stream, err := conn.NewStream(ctx, both, method)
	must(err)
	go func() {
		for _, n := range asked {
			must(stream.SendMsg(&n))
		}
		must(stream.CloseSend())
	}()
	return received(stream)
}

func unary(conn *grpc.ClientConn) {
	var group sync.WaitGroup
	for i := range 20 {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := range 500 {
				n := number(i*500 + j)
				answer, err := square(conn, n)
				must(err)
				expect(answer == n*n, "%d for %d", answer, n)
			}
		}()
	}
	group.Wait()
	_, err := square(conn, 1<<32)
	expect(status.Code(err) == codes.OutOfRange, "%v", err)
	err = conn.Invoke(ctx, "/Numbers/Cube", new(number), new(number))
	expect(status.Code(err) == codes.Unimplemented, "%v", err)
}

func streams(conn *grpc.ClientConn) {
	counted := streamed(conn, "/Numbers/Count", 50000)
	expect(len(counted) == 50000 && counted[49999] == 50000, "%d counted", len(counted))
	ones := make([]number, 20000)
	for i := range ones {
		ones[i] = 1
	}
	sum := streamed(conn, "/Numbers/Sum", ones...)
	expect(len(sum) == 1 && sum[0] == 20000, "%v is the sum", sum)
	sums := streamed(conn, "/Numbers/Sums", ones...)
	expect(len(sums) == 20000 && sums[19999] == 20000, "%d sums", len(sums))
}

func turns(conn *grpc.ClientConn) {
	stream, err := conn.NewStream(ctx, both, "/Numbers/Sums")
	must(err)
	for i := range 3000 {
		one, answer := number(1), number(0)
		must(stream.SendMsg(&one))
		must(stream.RecvMsg(&answer))
		expect(answer == number(i+1), "%d", answer)
	}
	must(stream.CloseSend())
	expect(len(received(stream)) == 0, "more than was asked for")
}

func cancels(conn *grpc.ClientConn) {
	for range 50 {
		inner, cancel := context.WithCancel(ctx)
		stream, err := conn.NewStream(inner, both, "/Numbers/Count")
		must(err)
		endless, n := number(1<<63), number(0)
		must(stream.SendMsg(&endless))
		must(stream.CloseSend())
		must(stream.RecvMsg(&n))
		cancel()
	}
}

func main() {
	encoding.RegisterCodec(codec{})
	how := insecure.NewCredentials()
	if len(os.Args) > 2 {
		trusting, err := credentials.NewClientTLSFromFile(os.Args[2], "")
		must(err)
		how = trusting
	}
	conn, err := grpc.NewClient("passthrough:///"+os.Args[1], grpc.WithTransportCredentials(how))
	must(err)
	for _, part := range []func(*grpc.ClientConn){unary, streams, turns, cancels, unary} {
		part(conn)
	}
	fmt.Println("all")
}
