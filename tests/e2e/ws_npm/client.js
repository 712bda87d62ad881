// SPDX-License-Identifier: MIT

// Sends messages to an echo by npm's ws, and compares what comes back. Arguments: the URL, then options of permessage-deflate.
"use strict";

const WebSocket = require("ws");

const [url, options] = process.argv.slice(2);
const messages = [0, 1, 127, 5000, 65536, 200000].flatMap(size => Array(3).fill("a word, and another. ".repeat(size / 20 + 1).slice(0, size)));
const socket = new WebSocket(url, { perMessageDeflate: { threshold: 0, ...JSON.parse(options) } });
let next = 0;

function fail(why) {
    console.error(String(why));
    process.exit(1);
}

socket.on("open", () => {
    console.log(socket.extensions || "none");
    socket.send(messages[0]);
});
socket.on("message", data => {
    if (data.toString() !== messages[next]) fail(`message ${next} came back otherwise`);
    if (++next < messages.length) socket.send(messages[next]);
    else socket.close(1000);
});
socket.on("close", code => {
    if (code !== 1000 || next < messages.length) fail(`closed with ${code} at message ${next}`);
    console.log("done");
});
socket.on("error", fail);
