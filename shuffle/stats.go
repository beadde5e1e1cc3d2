package shuffle

// Stats counts what a collector has done so far.
type Stats struct {
	Records int64 // added
	Bytes   int64 // of their keys and values

	Spills         int64 // sorted runs written to disk before the end
	SpilledRecords int64 // in them, and in merge passes over them
	SpilledBytes   int64 // bytes of files so written

	CombineIn  int64 // records given to the combiner or the fold
	CombineOut int64 // records that came out of it

	OutRecords int64 // in the output
	OutBytes   int64 // of their keys and values, with lengths
}

// spilled counts a run written to disk.
func (s *Stats) spilled(run *Output) {
	for _, info := range run.infos {
		s.SpilledRecords += info.Records
		s.SpilledBytes += info.StoredBytes
	}
}
