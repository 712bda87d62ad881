// SPDX-License-Identifier: MIT
//
// A peer for the bench: hello, or the files of a folder, by Go's net/http, on one core. With a certificate and a key it
// speaks TLS.
package main

import (
	"flag"
	"log"
	"net/http"
	"runtime"
)

func handler(folder string) http.Handler {
	if folder != "" {
		return http.FileServer(http.Dir(folder))
	}
	answer := []byte("Hello, World!")
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(answer)
	})
}

// Only the version that is measured.
func protocols(isHTTP2 bool) *http.Protocols {
	chosen := new(http.Protocols)
	chosen.SetHTTP1(!isHTTP2)
	chosen.SetHTTP2(isHTTP2)
	chosen.SetUnencryptedHTTP2(isHTTP2)
	return chosen
}

func main() {
	isHTTP2 := flag.Bool("http2", false, "HTTP/2 instead of HTTP/1")
	folder := flag.String("files", "", "serve this folder")
	flag.Parse()
	if flag.NArg() != 1 && flag.NArg() != 3 {
		log.Fatal("usage: hello [-http2] [-files FOLDER] PORT [CERTIFICATE KEY]")
	}
	runtime.GOMAXPROCS(1)
	server := &http.Server{
		Addr:      "127.0.0.1:" + flag.Arg(0),
		Handler:   handler(*folder),
		Protocols: protocols(*isHTTP2),
		ErrorLog:  log.New(nothing{}, "", 0),
	}
	if flag.NArg() == 1 {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(flag.Arg(1), flag.Arg(2)))
}

// Connections that only knock leave no line behind.
type nothing struct{}

func (nothing) Write(octets []byte) (int, error) {
	return len(octets), nil
}
