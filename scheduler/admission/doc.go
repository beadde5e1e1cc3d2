// Package admission decides which waiting job may start its driver: all at once
// (unlimited), as many as a fixed part of the cluster holds (marp), or as many as
// one of three feedback controllers finds useful (cbt, cbtws, cbtwat).
//
// MARP, the maximum application-master resource percent, is the part of the
// cluster that drivers may hold; it caps how many jobs run at once. Too high,
// and drivers and waiting reduces leave no room for maps; too low, and the
// cluster idles while jobs wait. The controllers raise it when the processors
// idle and lower it when a job is about to finish (spec/marp 3.2, 3.4, 3.5).
//
// A Controller is a state machine without a clock: Init and Step return what to
// write and how long to sleep. Static and Tuned are the admission policies
// around it; the value they write passes through the delay factor of spec/marp 2.4
// before it counts. The driver must feed CPUSample for the whole cluster (about
// once a second) and Progress of every job (as YARN weighs it, or see
// Limits.Progress), call Engine.Tick when due and Engine.Admit afterwards.
//
// Section numbers in comments are those of spec/marp.
package admission
