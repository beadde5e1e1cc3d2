package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/mapreduce"
)

// hadoopSetting is the effect of a Hadoop setting here: one of the two.
type hadoopSetting struct {
	set  func(job *mapreduce.Job, value string) error
	flag string // the equivalent flag
}

// hadoopSettings are the Hadoop settings that have a meaning here, by their present names.
var hadoopSettings = map[string]hadoopSetting{
	"mapreduce.job.reduces":                           {set: setReduces},
	"mapreduce.job.name":                              {set: func(j *mapreduce.Job, v string) error { j.Name = v; return nil }},
	"mapreduce.job.queuename":                         {flag: "--queue"},
	"mapreduce.job.priority":                          {flag: "--priority"},
	"mapred.fairscheduler.pool":                       {flag: "--pool"},
	"mapreduce.job.maps":                              {flag: "--split-bytes"},
	"mapreduce.job.user.name":                         {flag: "--user"},
	"mapreduce.job.cache.files":                       {flag: "--file"},
	"mapreduce.job.reduce.slowstart.completedmaps":    {flag: "--slowstart"},
	"mapreduce.map.maxattempts":                       {flag: "--max-attempts"},
	"mapreduce.reduce.maxattempts":                    {flag: "--max-attempts"},
	"mapreduce.map.memory.mb":                         {flag: "--map-memory"},
	"mapreduce.reduce.memory.mb":                      {flag: "--reduce-memory"},
	"yarn.app.mapreduce.am.resource.mb":               {flag: "--driver-memory"},
	"mapreduce.map.cpu.vcores":                        {flag: "--map-vcores"},
	"mapreduce.reduce.cpu.vcores":                     {flag: "--reduce-vcores"},
	"yarn.app.mapreduce.am.resource.cpu-vcores":       {flag: "--driver-vcores"},
	"mapreduce.map.output.compress":                   {flag: "--compress"},
	"mapreduce.map.output.compress.codec":             {flag: "--compress"},
	"mapreduce.task.timeout":                          {flag: "--task-timeout"},
	"mapreduce.task.io.sort.mb":                       {flag: "--sort-memory"},
	"mapreduce.cluster.local.dir":                     {flag: "--scratch"},
	"mapreduce.input.fileinputformat.split.maxsize":   {flag: "--split-bytes"},
	"mapreduce.input.fileinputformat.split.minsize":   {flag: "--split-bytes"},
	"mapreduce.input.fileinputformat.inputdir":        {flag: "--input"},
	"mapreduce.output.fileoutputformat.outputdir":     {flag: "--output"},
	"mapreduce.input.linerecordreader.line.maxlength": {flag: "--max-record-bytes"},
}

// hadoopOld maps older names of settings to present ones.
var hadoopOld = map[string]string{
	"mapred.reduce.tasks": "mapreduce.job.reduces", "mapred.job.name": "mapreduce.job.name", "mapred.job.queue.name": "mapreduce.job.queuename",
	"mapred.job.priority": "mapreduce.job.priority", "mapred.task.timeout": "mapreduce.task.timeout", "io.sort.mb": "mapreduce.task.io.sort.mb",
	"mapred.compress.map.output": "mapreduce.map.output.compress", "mapred.max.split.size": "mapreduce.input.fileinputformat.split.maxsize",
	"mapred.min.split.size": "mapreduce.input.fileinputformat.split.minsize", "mapred.map.tasks": "mapreduce.job.maps",
	"mapred.map.max.attempts": "mapreduce.map.maxattempts", "mapred.reduce.max.attempts": "mapreduce.reduce.maxattempts",
	"mapred.map.output.compression.codec": "mapreduce.map.output.compress.codec", "mapred.local.dir": "mapreduce.cluster.local.dir",
	"mapred.input.dir": "mapreduce.input.fileinputformat.inputdir", "mapred.output.dir": "mapreduce.output.fileoutputformat.outputdir",
	"mapred.linerecordreader.maxlength": "mapreduce.input.linerecordreader.line.maxlength", "mapred.cache.files": "mapreduce.job.cache.files",
	"mapred.reduce.slowstart.completed.maps": "mapreduce.job.reduce.slowstart.completedmaps", "tmpfiles": "mapreduce.job.cache.files",
	"mapred.job.map.memory.mb": "mapreduce.map.memory.mb", "mapred.job.reduce.memory.mb": "mapreduce.reduce.memory.mb", "user.name": "mapreduce.job.user.name",
}

// hadoopPrefixes are the prefixes of Hadoop's own names, past and present. All other names are the user's, for the
// commands.
var hadoopPrefixes = []string{
	"mapreduce.", "mapred.", "stream.", "yarn.", "hadoop.", "fs.", "dfs.", "io.", "ipc.", "ha.", "tfile.", "seq.io.", "ftp.", "s3.", "s3native.",
	"num.key.fields.", "map.output.", "map.input.", "map.sort.", "reduce.output.", "key.value.", "sequencefile.filter.", "tmpfiles", "tmpjars", "tmparchives",
	"job.end.", "job.local.dir", "jobclient.", "jobtracker.", "tasktracker.", "webinterface.", "keep.failed.task.files", "keep.task.files.pattern",
	"local.cache.size", "min.num.spills.for.combine", "net.topology.", "topology.node.", "topology.script.", "file.blocksize", "file.bytes-per-checksum",
	"file.client-write-packet-size", "file.replication", "file.stream-buffer-size", "rpc.engine.", "slave.host.name", "session.id", "user.name", "group.name", "zlib.compress.level",
}

// applyHadoop applies Hadoop settings, and refuses those that would have no effect: a job that does not run as it
// was told is worse than one that does not run.
func applyHadoop(job *mapreduce.Job, params map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		now := name
		if n, old := hadoopOld[name]; old {
			now = n
		}
		s, known := hadoopSettings[now]
		switch {
		case known && s.set != nil:
			if err := s.set(job, params[name]); err != nil {
				return fmt.Errorf("-D %s: %w", name, err)
			}
		case known:
			return fmt.Errorf("-D %s is not read here: give %s", name, s.flag)
		case slices.ContainsFunc(hadoopPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
			return fmt.Errorf("-D %s is a setting of Hadoop that means nothing here: leave it out (your own settings, for the commands, have other names)", name)
		}
	}
	return nil
}

func setReduces(job *mapreduce.Job, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	switch {
	case n == 0: // Hadoop's way to ask for a map-only job
		job.MapOnly = true
	case job.Reducers != 0 && job.Reducers != n:
		return fmt.Errorf("it is %d, and --reducers is %d: give one of them", n, job.Reducers)
	default:
		if err := CheckReducers("--", n); err != nil {
			return err
		}
		job.Reducers = n
	}
	return nil
}
