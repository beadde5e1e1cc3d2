package mapreduce

import "cmp"

// A BadRecord is a record that was skipped because the mapper failed on it. [Job.SkipBadRecords] allows some.
type BadRecord struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// Compare orders bad records by place.
func (b BadRecord) Compare(o BadRecord) int {
	return cmp.Or(cmp.Compare(b.File, o.File), cmp.Compare(b.Offset, o.Offset))
}
