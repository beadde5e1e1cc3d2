package jobs

import "github.com/millrace/millrace/mapreduce"

var sortLines = Builtin{
	Name:    "sort",
	Summary: "sort lines by their bytes; the parts one after the other are what LC_ALL=C sort prints",
	Example: "sort --input words.txt --output sorted",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Map{
			Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return lineMapper{}, nil },
		}
		base.Partition = mapreduce.TotalOrder{}
		return base
	}),
}

var distinct = Builtin{
	Name:    "distinct",
	Summary: "each line once; the parts one after the other are what LC_ALL=C sort -u prints",
	Example: "distinct --input visitors.txt --output unique",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = countedLines
		base.Fold = mapreduce.Max
		base.Partition = mapreduce.TotalOrder{}
		base.Reduce = mapreduce.Reduce{
			Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return mapreduce.ReducerFunc(passKey), nil },
		}
		return base
	}),
}
