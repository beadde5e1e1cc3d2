// Command millrace is the one binary. All of it is package cli.
package main

import "github.com/millrace/millrace/cli"

func main() { cli.Main() }
