// SPDX-License-Identifier: MIT
//
// A peer for the bench: hello by Go's net/http, on one core.
package main

import (
	"log"
	"net/http"
	"os"
	"runtime"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: hello PORT")
	}
	runtime.GOMAXPROCS(1)
	answer := []byte("Hello, World!")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(answer)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
