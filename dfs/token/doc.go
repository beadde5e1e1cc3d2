// Package token signs and checks the right to use one block. The name service signs tokens, because it knows
// who may read or write which file. Block services check them and serve nobody without one.
//
// A token is valid for one block at one generation, one operation, one holder, and some time:
//
//	k := token.NewKey(id, secret)                       // the name service's, told to block services in answers to their beats
//	text := k.Sign(token.Claim{...})                    // goes to the client with the block's places
//	err := ring.Check(text, block, token.Read, caller, now)
//
// Time is counted from when the key was made. A block service is told the age of a key, not the hour, so clocks
// that differ or jump do not matter. A key signs for a while, until one replaces it that all block services
// have known for as long. What it signed stays valid until it expires.
package token
