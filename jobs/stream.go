package jobs

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/jobs/streaming"
	"github.com/millrace/millrace/mapreduce"
)

var streamingJob = Builtin{
	Name:     "streaming",
	Commands: true,
	Summary:  "any command as mapper, combiner and reducer over standard input and output, as Hadoop Streaming",
	Example:  "streaming --mapper 'python3 map.py' --reducer 'python3 reduce.py' --file map.py --file reduce.py --input books/ --output counts",
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		var mapper, combiner, reducer string
		var files []string
		var params map[string]string
		flags.StringVar(&mapper, "mapper", "", "command that reads lines and prints key TAB value")
		flags.StringVar(&combiner, "combiner", "", "command that reads and prints key TAB value lines")
		flags.StringVar(&reducer, "reducer", "", "command that reads key TAB value lines sorted by key; without it, or as NONE, the job is map-only")
		flags.StringArrayVar(&files, "file", nil, "file that the commands find in their directory; may be given several times")
		flags.StringToStringVarP(&params, "define", "D", nil, "setting that the commands find in their environment, name=value; of Hadoop's own, those that mean something here")
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			if mapper == "" {
				return nil, errors.New("no mapper: give --mapper COMMAND")
			}
			base.SideFiles, base.Params = files, params
			if err := applyHadoop(&base, params); err != nil {
				return nil, err
			}
			base.MapOnly = base.MapOnly || reducer == "" || reducer == "NONE"
			if base.SkipBadRecords > 0 {
				return nil, errors.New("--skip-bad-records does not go with streaming: which record a command failed on is not known")
			}
			if base.MapOnly {
				if combiner != "" {
					return nil, errors.New("--combiner needs a --reducer")
				}
				base.Map = streaming.MapOnly(mapper)
				return []mapreduce.Job{base}, nil
			}
			base.Map = streaming.Map(mapper, combiner)
			base.Reduce = streaming.Reduce(reducer)
			return []mapreduce.Job{base}, nil
		}
	},
}
