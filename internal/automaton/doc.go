// Package automaton finds a regular expression in text of many lines, at a few nanoseconds for each byte however many matches there are.
//
//	re, ok := automaton.Compile(tree)      // ok is false for expressions that are too large for it
//	s := re.NewSearcher()                  // for one goroutine
//	s.Lines(text, func(line []byte) {})    // the lines that have a match
//	s.Matches(text, func(from, to int) {}) // every match, as regexp.FindAllIndex gives them line by line
//
// The caller gives a tree that matches no newline and that has the ends of lines, not of the text, in it; and text that is UTF-8.
//
// The program of regexp/syntax becomes one over bytes. A table of states is made from it as text needs them: a state is the list of
// places at which the program can be, best first, so that the match is the one that the standard library finds. One walk forward finds
// where a match ends, and one backward, by the program of the reversed expression, where it begins. The table has a bound; when it is
// full, it is thrown away and made anew, so that time stays linear in the text whatever the expression.
package automaton
