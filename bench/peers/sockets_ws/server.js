// SPDX-License-Identifier: MIT
//
// A peer for the bench of WebSockets: PORT, by npm's ws.
const { WebSocketServer } = require('ws')

const server = new WebSocketServer({ host: '127.0.0.1', port: Number(process.argv[2]), perMessageDeflate: false })

server.on('connection', (socket, request) => {
  const publishes = request.url === '/publish'
  socket.on('error', () => {})
  socket.on('message', message => {
    if (!publishes) socket.send(message)
    else for (const reader of server.clients) reader.send(message)
  })
})
