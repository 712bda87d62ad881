// SPDX-License-Identifier: MIT
//
// A peer for the bench of WebSockets: PORT [CERTIFICATE KEY], by npm's ws.
const fs = require('fs')
const http = require('http')
const https = require('https')
const { WebSocketServer } = require('ws')

const [port, certificate, key] = process.argv.slice(2)
const carrier = certificate
  ? https.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
  : http.createServer()
const server = new WebSocketServer({ server: carrier, perMessageDeflate: false })
carrier.listen(Number(port), '127.0.0.1')

server.on('connection', (socket, request) => {
  const publishes = request.url === '/publish'
  socket.on('error', () => {})
  socket.on('message', message => {
    if (!publishes) socket.send(message)
    else for (const reader of server.clients) reader.send(message)
  })
})
