// Package automaton finds a regular expression in text of many lines, at a few nanoseconds for each byte, however
// many matches there are.
//
//	re, ok := automaton.Compile(tree)      // ok is false for expressions that are too large for it
//	s := re.NewSearcher()                  // for one goroutine
//	s.Lines(text, func(line []byte) {})    // the lines that have a match
//	s.Matches(text, func(from, to int) {}) // every match, as regexp.FindAllIndex gives them line by line
//
// The caller's tree must not match a newline, and its anchors must be those of lines, not of the text. The text must
// be UTF-8.
//
// The program of regexp/syntax is converted to one over bytes. A table of states is made from it as the text needs
// them. A state is the list of places at which the program can be, best first, so that the match is the one that the
// standard library finds. One walk forward finds where a match ends. One walk backward, with the program of the
// reversed expression, finds where it begins. When the table is full, it is discarded and rebuilt, so that time
// stays linear in the text whatever the expression.
package automaton
