// Package drive is the one round around scheduler.Engine. The master and the
// simulator both run it, so that a policy meets the same world in both: periodic
// work, kills, second attempts, admission, offers and broken deadlocks come in one
// order, and follow one set of rules.
//
// The owner of a cluster makes a Loop of an engine and a Config. It feeds every
// event as it becomes known (Feed, NodeLost), and calls Round when time has passed or
// a node may have room. A round hands the owner one Step after the other; each has
// been applied to the state already, and the owner carries it out. Round returns every
// rule that a policy has broken; what was decided before and after it stands.
//
// The function that takes the steps must not call the Loop.
//
// With Config.Log set, a Loop logs what it is told and what it decides. Replay asks policies again from such a log and
// reports the first line in which they decide otherwise.
package drive
