// Package lab is the toolkit of the laboratory: published experiments as code, run in the simulator, with published
// values beside measured ones.
//
// A [Document] is a published document with its [Experiment] list. Its package below this one embeds words.md, which says in
// Markdown what is asked, how it is set up and how to read the charts; [NewDocument] joins the two. An experiment is written like
// a test: its function gets a [Recorder], repeats runs ([Repeat], [Sweep]), adds each [Check] as one value, and draws figures,
// whose captions are in words.md too. [Run] runs one and returns its [Report]. The same seeds make the same report, whatever the
// number of cores.
//
// An experiment may name two runs that are worth watching ([Recorder.Watch]), for which the command writes a player.
//
// A [Headline] is a figure that a document is known for: its value under every reading that was tried, drawn as a
// strip. The section "In a sentence" at the top of words.md is filled from the headlines ([Document.Sentence]). The
// first chart of an experiment's words comes first on its page.
//
// Nothing is tuned to a number except where the specification calls it a calibration;
// the check then says calibrated.
package lab
