// Package webhdfs reads and writes HDFS over its REST interface, WebHDFS, or HttpFS, which answers the same calls.
//
// A [Service] finds the servers of paths as Hadoop's users write them: of hdfs:///x, hdfs://nameservice/x and
// hdfs://host:port/x by the configuration that Hadoop itself reads (HADOOP_CONF_DIR); webhdfs://host:port/x and
// swebhdfs://host:port/x name one. Give its Sites to a storage.Mux, call Hurry when the job is interrupted, and Close
// when it has ended.
//
// A name node says where data is; the bytes come from a data node and go to one. A name node that is on standby, in
// safe mode or out of reach is asked again, and the other one of two, for Config.Patience. A read that breaks off goes
// on at the byte where it was, from another data node, and every stream is checked against the version that the file
// had when it was opened. A file is written by one request; what broke off in the middle is an error.
package webhdfs
