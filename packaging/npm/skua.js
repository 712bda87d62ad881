#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// Runs the program of the package for this processor. Signals go on to it, and its end is this process's.
"use strict";

const { spawn } = require("child_process");

const name = `skua-server-linux-${process.arch}`;
let program;
try {
    program = require.resolve(`${name}/bin/skua`);
} catch {
    console.error(`skua: ${name} is not installed; there are packages for Linux on x64 and arm64`);
    process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"])
    process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
    console.error(`skua: ${error.message}`);
    process.exit(1);
});
child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
});
