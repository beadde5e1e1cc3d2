// Package dfs is the client of the block store, whose files survive the machines they are on.
//
//	c := dfs.NewClient(dfs.Config{Master: "127.0.0.1:7070", Client: rpcClient, User: "ann"})
//	w, err := c.Create(ctx, "/logs/today", dfs.CreateOptions{})
//	...                         // Write; nobody sees the file yet
//	err = w.Close()             // now it is there, on as many disks as asked for
//
// A [Writer] sends each block through a pipeline of replicas and replaces those that fail on the way. A [File]
// reads from the nearest replica, verifies every byte, and switches to another when a replica is gone, slow or
// rotten. [Client.Storage] presents the store to jobs, [Client.FS] to users of package io/fs.
//
// A file is durable, and visible under its name, when Close has returned nil. The name
// service is in dfs/names, the block service in dfs/blocks; both run elsewhere.
package dfs
