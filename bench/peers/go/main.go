// SPDX-License-Identifier: MIT
//
// A peer for the bench: hello by Go's net/http, on one core. With a certificate and a key it speaks TLS.
package main

import (
	"crypto/tls"
	"log"
	"net/http"
	"os"
	"runtime"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: hello PORT [CERTIFICATE KEY]")
	}
	runtime.GOMAXPROCS(1)
	answer := []byte("Hello, World!")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(answer)
	})
	server := &http.Server{
		Addr:    "127.0.0.1:" + os.Args[1],
		Handler: handler,
		// HTTP/1 alone, which is what is measured.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(nothing{}, "", 0),
	}
	if len(os.Args) == 2 {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
}

// Connections that only knock leave no line behind.
type nothing struct{}

func (nothing) Write(octets []byte) (int, error) {
	return len(octets), nil
}
