// Package token is the leave to touch a block. The name service signs tokens, because it knows who may read or write which
// file; block services check them and serve nobody without one.
//
// A token is good for one block at one generation, for one operation, for one holder, and for some time:
//
//	k := token.NewKey(id, secret)                       // the name service's, told to block services in answers to their beats
//	text := k.Sign(token.Claim{...})                    // goes to the client with the block's places
//	err := ring.Check(text, block, token.Read, caller, now)
//
// Time is counted from when the key was made, by whoever holds the key: a block service is told the age of a key, not the hour.
// So clocks that differ or jump do not matter. A key signs for a while and is then replaced by one that all block services
// have known for as long; what it signed stays good until it expires.
package token
