package bench

import "fmt"

// jobCases returns the built-in jobs that sort, against the GNU tools that do the same, and the index against counting
// the same words.
func (s Setup) jobCases() []Case {
	lines, pairs := s.file(text, s.Size), s.file(records, s.Size)
	return []Case{
		s.joinCase(),
		s.against(Case{ID: "distinct", What: "distinct lines of text", Must: 0.5, Aim: 0.4}, lines, "distinct", nil, "%s -u "+lines),
		s.against(Case{ID: "topk", What: "the ten most frequent lines of text", Must: 0.5, Aim: 0.4}, lines, "topk", []string{"--by", "line"}, "%[1]s "+lines+" | uniq -c | %[1]s -rn | head"),
		s.against(Case{ID: "sort-pairs", What: "sort of key-value lines", Must: 0.4, Aim: 0.35}, pairs, "sort", nil, "%s "+pairs),
		s.indexCase(lines),
	}
}

// against fills in a case with one input and the memory of the other sorts. In pipeline, %s stands for the command of
// GNU sort.
func (s Setup) against(c Case, in, job string, flags []string, pipeline string) Case {
	c.What += ", 256 MiB of memory, " + gigabytes(s.Size)
	c.inputs, c.Budget, c.CPU = []string{in}, sortBudget, true
	c.Ours = s.run(job, append([]string{"--input", in, "--memory", "256MiB"}, flags...)...)
	c.Rival = s.shell(fmt.Sprintf(pipeline, s.gnuSort()))
	return c
}

// gnuSort returns the command of GNU sort with as much memory and as many cores.
func (s Setup) gnuSort() string {
	return fmt.Sprintf("sort -S256M --parallel=%d -T %s", s.Parallel, s.Dir)
}

// shell returns a pipeline of the GNU tools.
func (s Setup) shell(line string) Command {
	return Command{Name: "GNU sort", Args: []string{"sh", "-c", line + " >" + s.path("out-gnu")}, Env: []string{"LC_ALL=C"}}
}

// joinCase joins two tables, one with ten times as many rows as the other, of 99 bytes each; nearly every row has a
// partner.
func (s Setup) joinCase() Case {
	left, right := s.file(joinKeys, s.Size/10), s.file(joinRows, s.Size)
	c := Case{
		ID: "join", What: fmt.Sprintf("join of %.3g with %.3g rows, 256 MiB of memory", float64(s.Size/100), float64(s.Size/1000)),
		inputs: []string{left, right}, Must: 0.5, Aim: 0.4, CPU: true, Budget: sortBudget,
		Ours: s.run("join", "--left", left, "--right", right, "--memory", "256MiB"),
	}
	a, b := s.path("sorted-left"), s.path("sorted-right")
	c.Rival = s.shell(fmt.Sprintf("%[1]s %[2]s >%[4]s && %[1]s %[3]s >%[5]s && join -t '\t' %[4]s %[5]s", s.gnuSort(), left, right, a, b))
	c.Rival.Name = "GNU sort, join"
	return c
}

func (s Setup) indexCase(in string) Case {
	c := Case{
		ID: "index", What: "inverted index, Zipf text of 100,000 words, " + gigabytes(s.Size), inputs: []string{in}, Must: 1.5, Aim: 1.2, CPU: true,
		Ours: s.run("inverted-index", "--input", in), Rival: s.run("wordcount", "--input", in),
	}
	c.Rival.Name = "our wordcount"
	return c
}
