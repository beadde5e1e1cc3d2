package cli

import (
	"time"

	"github.com/millrace/millrace/sim"
)

// simFile is the content of a file of sim run, and of what the playground sends. Missing keys keep their defaults.
type simFile struct {
	Nodes       *int             `yaml:"nodes" help:"machines"`
	Racks       *int             `yaml:"racks" help:"racks, all of one size"`
	Containers  *int             `yaml:"containers" help:"containers of a machine"`
	MapSlots    *int32           `yaml:"map_slots" help:"maps that a machine runs at once; with reduce_slots instead of containers"`
	ReduceSlots *int32           `yaml:"reduce_slots" help:"reduces that a machine runs at once"`
	Classes     []describedClass `yaml:"classes" help:"machines of several kinds instead of nodes, with the keys of cluster up --file; they stand in the racks in turn"`
	Demand      *simFileDemand   `yaml:"demand" help:"what a task asks for"`

	Heartbeat     *time.Duration `yaml:"heartbeat" help:"period in which machines report; 0: they ask as soon as they have room"`
	AskAgain      *time.Duration `yaml:"ask_again" help:"with heartbeat 0: how often machines with room ask although nothing has happened"`
	OutOfBand     *bool          `yaml:"out_of_band" help:"true adds a report when an attempt ends"`
	ReportLate    *bool          `yaml:"report_late" help:"true makes the end of an attempt known at the machine's next report only; it is so where there is a network"`
	PerHeartbeat  *int           `yaml:"per_heartbeat" help:"containers that one report may be given; 0: as many as fit"`
	ReportEvery   *time.Duration `yaml:"report_every" help:"period of processor and progress reports, in the model contention; 1s where it is left out"`
	AllHeartbeats *bool          `yaml:"all_heartbeats" help:"true simulates also reports that change nothing"`

	Uplink      *float64       `yaml:"uplink" help:"Gb/s of a rack's link; without it there is no network"`
	NIC         *float64       `yaml:"nic" help:"Gb/s of a machine's card"`
	Circuit     *float64       `yaml:"circuit" help:"Gb/s of an optical circuit between two racks"`
	Optical     *opticalFile   `yaml:"optical" help:"the optical switch, with more than its rate, as in cluster up --file"`
	NetTick     *time.Duration `yaml:"net_tick" help:"how often rates are computed; 0: at every change"`
	WriteCopies *int           `yaml:"write_copies" help:"copies of reduce output that go to other machines, 0 to 2"`
	Flows       *string        `yaml:"flows" help:"rack or node: what a reduce has a flow from"`
	Monitor     simFileMonitor `yaml:"monitor" help:"what watches the racks' links and tells policies"`

	Trace     *string      `yaml:"trace" help:"gen:MODEL:JOBS, or a file of any format that trace convert reads"`
	Jobs      []sim.Listed `yaml:"jobs" help:"instead of a trace: a list of jobs"`
	Scale     *float64     `yaml:"scale" help:"factor on all sizes of a trace"`
	Load      *float64     `yaml:"load" help:"times of arrival are stretched so that the work needs this share of the containers from the first arrival to the last"`
	Arrivals  *float64     `yaml:"arrivals" help:"factor on the times between arrivals: with 0.5 twice as many jobs come in an hour"`
	Workload  *string      `yaml:"workload" help:"how sizes become tasks: fine, or swim, with settings"`
	Recurring *bool        `yaml:"recurring" help:"true announces all jobs to policies that plan"`

	Rates        *string              `yaml:"rates" help:"how fast maps and reduces compute: copy, middle, slow, or MAP:REDUCE in bytes a second"`
	TaskOverhead *time.Duration       `yaml:"task_overhead" help:"what each task of a trace takes beside its bytes"`
	Noise        *float64             `yaml:"noise" help:"sigma of the log-normal factor on the times of tasks of a trace"`
	Users        *int                 `yaml:"users" help:"each job of a trace belongs to one of so many"`
	Model        *string              `yaml:"model" help:"what task times depend on: fixed (on nothing), contention (on what runs beside them on one machine) or devices (on processor, disk and card of their machine)"`
	Contention   sim.ContentionConfig `yaml:"contention" help:"settings of the model contention"`
	Devices      sim.DeviceConfig     `yaml:"devices" help:"settings of the model devices"`
	MapCycles    *float64             `yaml:"map_cycles" help:"cycles of a map for each byte of its input, in the model devices"`
	ReduceCycles *float64             `yaml:"reduce_cycles" help:"cycles of a reduce for each byte of its input, in the model devices"`

	Slowstart      *float64       `yaml:"slowstart" help:"share of a job's maps that must be done before its reduces may start"`
	Drivers        *bool          `yaml:"drivers" help:"true gives each job a driver, which holds a container; with an admission they have one anyway"`
	DriverStart    *time.Duration `yaml:"driver_start" help:"from the launch of a driver to the first task of its job"`
	BreakDeadlocks *bool          `yaml:"break_deadlocks" help:"false lets reduces wait for ever for maps that have no room"`
	Refill         *bool          `yaml:"refill" help:"false does not give the room of a stopped reduce to a map at once"`
	Patience       *time.Duration `yaml:"patience" help:"how long nothing may run while jobs wait before the run is called stalled"`

	Placement   *string        `yaml:"placement" help:"places the input of jobs anew: a policy of placement (millrace scheduler ls)"`
	Copies      *int           `yaml:"copies" help:"replicas of a block, with placement"`
	PlanHorizon *time.Duration `yaml:"plan_horizon" help:"announces recurring jobs so long before they come; 0: all at the start"`

	Failures   []simFileFailure   `yaml:"failures" help:"machines that fail, and return"`
	Stragglers *simFileStragglers `yaml:"stragglers" help:"attempts that take longer than others"`
	Changes    []simFileChange    `yaml:"changes" help:"settings that an operator writes while jobs run"`
	Reload     *simFileReload     `yaml:"reload" help:"how long a change takes to count: a random time between the two"`
	Switches   []simFileSwitch    `yaml:"switches" help:"other policies that are put in place while jobs run"`

	Seconds       *string           `yaml:"speculation" help:"rule of second attempts: late (or true), lag, or false for none"`
	SecondsParams map[string]string `yaml:"speculation_params" help:"of late: after, slower, share; of lag: after, behind, cap"`

	Seed      *uint64        `yaml:"seed" help:"of the workload and the first run"`
	Seeds     *int           `yaml:"seeds" help:"repetitions; a generated trace is another each time"`
	Policies  []simFilePlan  `yaml:"policies" help:"what is compared; a name alone, as in [fifo, fair], is a policy with its defaults"`
	Admission *simFilePolicy `yaml:"admission" help:"of all policies that have none of their own; a name alone is one with its defaults"`
	Report    *simFileReport `yaml:"report" help:"what the report shows; all that there is where it is left out"`
}

// simFilePlan is a policy to compare, with its own admission or that of the file.
type simFilePlan struct {
	Name      string            `yaml:"name" help:"how it is called in tables; must differ where a policy is there twice"`
	Policy    string            `yaml:"policy" help:"its name (millrace scheduler ls), or a file that ends in .star"`
	Params    map[string]string `yaml:"params" help:"its parameters (millrace scheduler show); 0.1..0.5 by 0.1 compares one for each value"`
	Admission *simFilePolicy    `yaml:"admission" help:"its admission policy"`
}

type simFilePolicy struct {
	Policy string            `yaml:"policy" help:"its name"`
	Params map[string]string `yaml:"params" help:"its parameters; ranges as above"`
}

type simFileDemand struct {
	Slots  int32 `yaml:"slots" help:"containers or slots, where machines have those"`
	VCores int32 `yaml:"vcores" help:"processors"`
	Memory int64 `yaml:"memory" help:"MiB"`
}

type simFileMonitor struct {
	Interval  time.Duration `yaml:"interval" help:"how often it looks"`
	Weight    float64       `yaml:"weight" help:"of the newest sample in the moving average, above 0 and at most 1"`
	Threshold float64       `yaml:"threshold" help:"utilisation from which a rack is congested"`
	Clear     float64       `yaml:"clear" help:"utilisation below which it no longer is; 0: the threshold"`
}

type simFileFailure struct {
	Node       int           `yaml:"node" help:"number of the machine, from 0"`
	At         time.Duration `yaml:"at" help:"when it fails"`
	Until      time.Duration `yaml:"until" help:"when it returns; never where it is left out"`
	KeepOutput bool          `yaml:"keep_output" help:"true: output of finished maps can still be fetched"`
}

type simFileStragglers struct {
	Share  float64 `yaml:"share" help:"part of the attempts, 0 to 1"`
	Factor float64 `yaml:"factor" help:"how many times as long they take"`
}

type simFileChange struct {
	At  time.Duration `yaml:"at" help:"when it is written"`
	Set string        `yaml:"set" help:"NAME=VALUE"`
}

type simFileReload struct {
	Min time.Duration `yaml:"min" help:"at least"`
	Max time.Duration `yaml:"max" help:"at most"`
}

type simFileSwitch struct {
	At        time.Duration     `yaml:"at" help:"when"`
	Policy    string            `yaml:"policy" help:"its name"`
	Params    map[string]string `yaml:"params" help:"its parameters"`
	Admission *simFilePolicy    `yaml:"admission" help:"its admission policy; every job at once where it is left out"`
}

type simFileReport struct {
	Metrics []string `yaml:"metrics" help:"rows of its table, and columns of the one on the screen, by their names, such as mean completion, s"`
	Charts  []string `yaml:"charts" help:"mean, tail, completion, slowdown, scatter, tasks or gantt"`
}
