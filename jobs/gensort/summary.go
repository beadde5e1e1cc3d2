package gensort

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// Summary is what valsort reports about a sequence of records. The zero value is the summary of no records.
type Summary struct {
	// Records is how many records were added.
	Records uint64
	// Checksum is the sum of the records' CRC-32s (IEEE). It does not depend on
	// the order, so input and sorted output agree on it.
	Checksum Uint128
	// Duplicates counts records whose key equals that of the record before.
	Duplicates uint64
	// Unordered counts records whose key is less than that of the record before.
	Unordered uint64
	// FirstUnordered is the index of the first such record; 0 if there is none,
	// since the first record has nothing before it.
	FirstUnordered uint64
	// FirstKey and LastKey are meaningful if Records > 0.
	FirstKey, LastKey [KeySize]byte
}

// Add adds the records of p, in order. If p ends inside a record, Add adds the whole records and fails.
func (s *Summary) Add(p []byte) error {
	for ; len(p) >= RecordSize; p = p[RecordSize:] {
		s.add((*[RecordSize]byte)(p))
	}
	if len(p) != 0 {
		return fmt.Errorf("partial record of %d bytes after record %d", len(p), s.Records)
	}
	return nil
}

func (s *Summary) add(rec *[RecordSize]byte) {
	key := (*[KeySize]byte)(rec[:])
	if s.Records == 0 {
		s.FirstKey = *key
	} else {
		s.judge(key, s.Records)
	}
	s.LastKey = *key
	s.Records++
	s.Checksum = s.Checksum.Add(Checksum(rec))
}

// judge compares a key with the last one; index is the key's record number.
func (s *Summary) judge(key *[KeySize]byte, index uint64) {
	switch c := bytes.Compare(key[:], s.LastKey[:]); {
	case c == 0:
		s.Duplicates++
	case c < 0:
		s.Unordered++
		if s.FirstUnordered == 0 {
			s.FirstUnordered = index
		}
	}
}

// Merge appends the summary of the records that follow those of s.
func (s *Summary) Merge(next Summary) {
	if next.Records == 0 {
		return
	}
	if s.Records == 0 {
		*s = next
		return
	}
	s.judge(&next.FirstKey, s.Records)
	if s.FirstUnordered == 0 && next.FirstUnordered != 0 {
		s.FirstUnordered = s.Records + next.FirstUnordered
	}
	s.Records += next.Records
	s.Checksum = s.Checksum.Add(next.Checksum)
	s.Duplicates += next.Duplicates
	s.Unordered += next.Unordered
	s.LastKey = next.LastKey
}

// Sorted reports whether no record was out of order.
func (s *Summary) Sorted() bool { return s.Unordered == 0 }

// String returns the report of valsort, line by line.
func (s *Summary) String() string {
	report := fmt.Sprintf("Records: %d\nChecksum: %v\n", s.Records, s.Checksum)
	if s.Sorted() {
		return report + fmt.Sprintf("Duplicate keys: %d\nSUCCESS - all records are in order\n", s.Duplicates)
	}
	return fmt.Sprintf("First unordered record is record %d\n", s.FirstUnordered) + report +
		fmt.Sprintf("ERROR - there are %d unordered records\n", s.Unordered)
}

// Checksum returns what one record adds to the checksum of a file.
func Checksum(rec *[RecordSize]byte) Uint128 {
	return Uint128{Lo: uint64(crc32.ChecksumIEEE(rec[:]))}
}
