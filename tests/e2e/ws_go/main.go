// SPDX-License-Identifier: MIT

// A WebSocket client by another's library: sends messages to an echo and compares what comes back.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/gorilla/websocket"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	dialer := websocket.Dialer{EnableCompression: true}
	socket, answer, err := dialer.Dial(os.Args[1], nil)
	check(err)
	fmt.Println(answer.Header.Get("Sec-WebSocket-Extensions"))
	for _, size := range []int{0, 1, 127, 5000, 65536, 200000} {
		message := []byte(strings.Repeat("a word, and another. ", size/20+1)[:size])
		for range 3 {
			check(socket.WriteMessage(websocket.BinaryMessage, message))
			kind, echoed, err := socket.ReadMessage()
			check(err)
			if kind != websocket.BinaryMessage || !bytes.Equal(echoed, message) {
				check(fmt.Errorf("a message of %d octets came back otherwise", size))
			}
		}
	}
	check(socket.Close())
	fmt.Println("done")
}
