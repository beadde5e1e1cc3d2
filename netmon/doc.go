// Package netmon turns byte counts into what scheduling policies want to know
// of the network: how busy each rack's link to the core and each node's card
// are, which racks are congested, since when and how often, and who sends to
// whom (spec/nas 3.3). It is pure: counts and times go in, numbers come out.
//
// The three calls that matter:
//
//	m, err := netmon.New(topo, netmon.DefaultConfig())
//	m.Count(src, dst, bytes)        // whenever a transfer, or a part of one, was reported
//	changed := m.Sample(now)        // every Config.Interval
//
// The caller counts every byte once, at the sender or at the receiver, not at
// both, and calls Sample with times that do not decrease. Between samples the
// answers do not change. Traffic that is not ours is added with Background.
package netmon
