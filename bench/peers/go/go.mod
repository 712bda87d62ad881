module skua/bench/hello

go 1.24
