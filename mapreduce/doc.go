// Package mapreduce is the programming model: what a user writes, and nothing of
// how it is run.
//
// # The three things that matter
//
// A [Job] names an input, a [Map], what happens to the values of one key (a [Fold],
// a combiner, a [Reduce]) and an output. The generic constructors ([Lines],
// [LinesWith], [KeyValues], [Fixed], [Files], [Records] for maps, [Groups] for
// reduces) turn a plain Go function into a Map or a Reduce; keys and values are
// encoded by the [Codec] of their type. Below them is the bytes core, [Mapper] and
// [Reducer], which allocates nothing per record.
//
//	mapreduce.Job{
//		Name: "wordcount",
//		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
//			for word := range bytes.FieldsSeq(line) {
//				emit(word, 1)
//			}
//		}),
//		Fold: mapreduce.Sum,
//	}
//
// # What the caller must know
//
//   - Bytes handed to user code (a line, a key, a value) are valid only until the
//     function returns, or until the next value is asked for. Keep a copy, never
//     the slice. Bytes handed to an emitter are copied before it returns.
//   - A Map's New function is called once for each attempt, so a Mapper may hold
//     state without locking. Functions given to [Lines] and its siblings are shared
//     by attempts that run at the same time and must not keep state of their own;
//     [LinesWith] is for those that do.
//   - What emits pairs and what takes them agree on the types: [Job.Validate] compares map, combiner, fold and reduce for
//     each input, a chain its stages, [RecordOutput] writes them into the file. Types made of one another are the same
//     (type Word string and []byte), so are structs with the same fields; numbers go where they fit (int32 to int64).
//     Code of the bytes core takes any bytes if it declares no types, and gives plain bytes.
//   - Keys are sorted by their encoded bytes. All built-in codecs keep the natural
//     order of their type; [Job.Sort] replaces the order.
//   - Emitting never fails towards user code. The first failure (a full disk, a
//     record over the limit) stops the attempt after the current record.
//
// Packages that run jobs: local (one process), and the cluster's master and worker.
package mapreduce
