// SPDX-License-Identifier: MIT

// A peer for the bench of WebSockets: PORT [CERTIFICATE KEY], by gorilla/websocket on one processor.
package main

import (
	"log"
	"net/http"
	"os"
	"runtime"
	"sync"

	"github.com/gorilla/websocket"
)

var (
	upgrader = websocket.Upgrader{ReadBufferSize: 4096, WriteBufferSize: 4096}
	lock     sync.Mutex
	readers  = map[*websocket.Conn]bool{}
)

func publish(kind int, message []byte) error {
	prepared, err := websocket.NewPreparedMessage(kind, message)
	if err != nil {
		return err
	}
	lock.Lock()
	defer lock.Unlock()
	for reader := range readers {
		if err := reader.WritePreparedMessage(prepared); err != nil {
			return err
		}
	}
	return nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer socket.Close()
	publishes := r.URL.Path == "/publish"
	lock.Lock()
	readers[socket] = true
	lock.Unlock()
	for err == nil {
		var kind int
		var message []byte
		if kind, message, err = socket.ReadMessage(); err != nil {
			break
		}
		if publishes {
			err = publish(kind, message)
		} else {
			err = socket.WriteMessage(kind, message)
		}
	}
	lock.Lock()
	delete(readers, socket)
	lock.Unlock()
}

func main() {
	runtime.GOMAXPROCS(1)
	http.HandleFunc("/", serve)
	address := "127.0.0.1:" + os.Args[1]
	if len(os.Args) > 3 {
		log.Fatal(http.ListenAndServeTLS(address, os.Args[2], os.Args[3], nil))
	}
	log.Fatal(http.ListenAndServe(address, nil))
}
