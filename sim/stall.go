package sim

// nothingEnds says that no attempt will end by itself: none runs, or all that run are
// reduces that wait for maps which find no room (marp.md 2.3).
func (s *simulation) nothingEnds() bool { return s.active == 0 || s.cfg.Model.Next() == Never }
