package shuffle

// mergeSort sorts [lo,hi), which is in b if inB, into a by the caller's order, stably: short runs by insertion, then
// runs of doubling length merged back and forth.
func (s *sorter) mergeSort(lo, hi int, inB bool) error {
	src, dst := s.a, s.b
	if inB {
		src, dst = dst, src
	}
	for i := lo; i < hi; i += insertionMax {
		s.insertionBy(src, i, min(i+insertionMax, hi))
	}
	for width := insertionMax; width < hi-lo; width *= 2 {
		for i := lo; i < hi; i += 2 * width {
			if err := canceled(s.ctx); err != nil {
				return err
			}
			s.mergeRuns(src, dst, i, min(i+width, hi), min(i+2*width, hi))
		}
		src, dst = dst, src
	}
	s.settle(lo, hi, src == s.b)
	return nil
}

func (s *sorter) insertionBy(x *index, lo, hi int) {
	for i := lo + 1; i < hi; i++ {
		e := *x.at(i)
		key := s.keys.key(e.loc)
		j := i
		for j > lo && s.compare(key, s.keys.key(x.at(j-1).loc)) < 0 {
			*x.at(j) = *x.at(j - 1)
			j--
		}
		*x.at(j) = e
	}
}

// mergeRuns merges the sorted [lo,mid) and [mid,hi) of src to the same place of dst.
func (s *sorter) mergeRuns(src, dst *index, lo, mid, hi int) {
	i, j, k := lo, mid, lo
	left, right := s.keyAt(src, i, mid), s.keyAt(src, j, hi)
	for ; i < mid && j < hi; k++ {
		if s.compare(right, left) < 0 {
			*dst.at(k) = *src.at(j)
			j++
			right = s.keyAt(src, j, hi)
		} else {
			*dst.at(k) = *src.at(i)
			i++
			left = s.keyAt(src, i, mid)
		}
	}
	for ; i < mid; i, k = i+1, k+1 {
		*dst.at(k) = *src.at(i)
	}
	for ; j < hi; j, k = j+1, k+1 {
		*dst.at(k) = *src.at(j)
	}
}

// keyAt returns the key of entry i of a run that ends before end, or nil at its end. It prefetches a later key.
func (s *sorter) keyAt(x *index, i, end int) []byte {
	if i+lookahead < end {
		s.keys.prefetch(x.at(i + lookahead).loc)
	}
	if i >= end {
		return nil
	}
	return s.keys.key(x.at(i).loc)
}
