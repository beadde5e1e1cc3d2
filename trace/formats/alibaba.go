package formats

import (
	"bytes"
	"fmt"
	"time"

	"github.com/millrace/millrace/trace"
)

// Columns of the tables batch_task (9) and batch_instance (14) of Alibaba's cluster data 2018, from 0.
const alibabaTask, alibabaInstance = 9, 14

// alibabaRow is a line of either table.
type alibabaRow struct {
	job, task, instance, status, machine string
	start, end, count                    int64
}

func isAlibaba(head []byte) bool {
	f := bytes.Split(first(head), []byte{','})
	_, err := alibabaParse(f)
	return err == nil
}

func alibabaParse(f [][]byte) (row alibabaRow, err error) {
	text := func(i int) string { return string(f[i]) }
	var start, end []byte
	switch len(f) {
	case alibabaTask:
		row = alibabaRow{task: text(0), job: text(2), status: text(4)}
		start, end = f[5], f[6]
		if row.count, err = number("instance_num", f[1]); err != nil {
			return row, err
		}
	case alibabaInstance:
		row = alibabaRow{instance: text(0), task: text(1), job: text(2), status: text(4), machine: text(7), count: 1}
		start, end = f[5], f[6]
	default:
		return row, fmt.Errorf("%d columns, want %d (batch_task) or %d (batch_instance)", len(f), alibabaTask, alibabaInstance)
	}
	if row.start, err = number("start_time", start); err != nil {
		return row, err
	}
	row.end, err = number("end_time", end)
	return row, err
}

// readAlibaba makes maps of the tasks that wait for none, and reduces of all others.
func readAlibaba(r *reader) error {
	return r.lines(func(line []byte) error {
		row, err := alibabaParse(bytes.Split(line, []byte{','}))
		if err != nil {
			return err
		}
		return r.alibabaRow(&row)
	})
}

func (r *reader) alibabaRow(row *alibabaRow) error {
	if row.start <= 0 || row.end < row.start {
		r.build.Leave("a task never ran, or nobody saw its end")
		return nil
	}
	if row.count < 1 || row.count > maxCount {
		return fmt.Errorf("task %q of %q has %d instances, must be in 1..%d", row.task, row.job, row.count, maxCount)
	}
	j, err := r.build.Job(row.job)
	if err != nil {
		return err
	}
	if row.status == "Failed" {
		j.State = trace.JobFailed
	}
	a := trace.PastAttempt{Kind: "map", Node: row.machine}
	if waits(row.task) {
		a.Kind = "reduce"
	}
	if a.Start, err = stamp("start_time", row.start, time.Second); err != nil {
		return err
	}
	if a.End, err = stamp("end_time", row.end, time.Second); err != nil {
		return err
	}
	for i := range row.count {
		name := row.task + "/" + row.instance
		if row.instance == "" {
			name = fmt.Sprint(row.task, "/", i)
		}
		if err := r.build.Attempt(row.job, name, a); err != nil {
			return err
		}
	}
	return nil
}

// waits reports whether a task's name, such as R3_1_2, has numbers of tasks that must end before it. Names such as
// task_MTIz have none.
func waits(name string) bool {
	_, rest, ok := bytes.Cut([]byte(name), []byte{'_'})
	return ok && len(name) > 1 && name[1] >= '0' && name[1] <= '9' && len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9'
}
