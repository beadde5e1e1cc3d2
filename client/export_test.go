package client

// SweepParts is what Ship does after it has shipped a file, for tests that do not wait for parts to be old.
var SweepParts = (*Client).sweepParts
