// Package examples holds programs to learn from, one in each folder. Its own part is the text of one of them, from which
// millrace scheduler new makes a module.
package examples

import "embed"

// Policy has the files of the millrace with one policy more.
//
//go:embed policy/*.go
var Policy embed.FS
