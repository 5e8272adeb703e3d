package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"piloto/infra/local/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if asked := os.Getenv(apartVariable); asked != "" {
		if err := serveApart(ctx, asked, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// options selects the measurements and their duration.
type options struct {
	json     bool
	only     *regexp.Regexp
	profile  string
	dir      string
	template string
	alone    bool // no floors

	cost   bool // count the cost of operations on AWS instead
	cold   bool // measure cold starts instead
	starts int  // of each function
	size   string

	growth  bool // measure how operations grow instead
	smaller int  // divides what is grown

	document string // register this one instead

	latency time.Duration // for each scenario
	slice   time.Duration // of each subject in each round
	rounds  int
	counted int // number of operations during which commits are counted
}

func parse(args []string, errOut io.Writer) (options, error) {
	o := options{latency: 3 * time.Second, slice: 1200 * time.Millisecond, rounds: 3, counted: 5}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	quick := flags.Bool("quick", false, "measure for ten seconds instead of sixty")
	flags.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	only := flags.String("only", "", "measure only the scenarios whose names match this")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the system to this file, and leave out the floors")
	flags.StringVar(&o.dir, "dir", filepath.Join("build", "bench"), "where the data is written, and then removed: the file system is measured too")
	flags.BoolVar(&o.cold, "cold", false, "measure how the functions' executables start, beside a hello-world function")
	flags.BoolVar(&o.cost, "cost", false, "count what operations cost on AWS: state transitions, write and read units, bytes of logs")
	flags.BoolVar(&o.growth, "growth", false, "measure how operations grow with chats, messages, operations, results and the data file")
	flags.IntVar(&o.smaller, "smaller", 1, "divide what -growth makes large")
	flags.IntVar(&o.starts, "starts", 20, "how often -cold starts each function, and -register registers")
	flags.StringVar(&o.document, "register", "", "register this OpenAPI document (\"generated\": one like GitHub's) as often as -starts says")
	flags.StringVar(&o.size, "size", "", "only check how big the executables in this folder are")
	flags.StringVar(&o.template, "template", "template.yaml", "the deployment to measure")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	if *quick {
		o.latency, o.slice, o.rounds, o.counted = 600*time.Millisecond, 250*time.Millisecond, 1, 2
	}
	o.alone = o.profile != ""
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

// bench holds the state of one run of the benchmark.
type bench struct {
	options
	sys   *system
	floor *floor
	out   report
}

// run measures and prints.
func run(ctx context.Context, o options, out io.Writer) error {
	switch {
	case o.size != "":
		return checkSizes(o.size, out)
	case o.cold:
		return runCold(ctx, o, out)
	case o.cost:
		return runCost(ctx, o, out)
	case o.growth:
		return runGrowth(ctx, o, out)
	case o.document != "":
		return runRegister(ctx, o, out)
	}
	began := time.Now()
	b := bench{options: o}
	err := withDeployment(ctx, o, deployed{parameters: process.Unlimited()}, func(folder string, sys *system) error {
		fl, err := startFloor(sys, filepath.Join(folder, "floor.log"))
		if err != nil {
			return err
		}
		b.sys, b.floor = sys, fl
		return errors.Join(b.measure(), fl.close())
	})
	if err != nil {
		return err
	}
	b.out.Took = time.Since(began).Seconds()
	if o.json {
		return b.out.json(out)
	}
	return b.out.table(out)
}

// measure measures the scenarios one by one.
func (b *bench) measure() error {
	mcp, err := b.sys.register()
	if err != nil {
		return err
	}
	if err := b.probe(); err != nil {
		return err
	}
	end, err := profileTo(b.profile)
	if err != nil {
		return err
	}
	defer end()
	for _, s := range slices.Concat(scenarios, timedOnly) {
		if !b.only.MatchString(s.name) {
			continue
		}
		if err := b.sys.model.script(s, mcp); err != nil {
			return err
		}
		if err := b.scenario(s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.looks()
}

// probe measures the two basic operations of a floor.
func (b *bench) probe() error {
	const n = 50
	write, post := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		from := time.Now()
		if err := b.floor.log.write(); err != nil {
			return err
		}
		write[i], from = time.Since(from), time.Now()
		if err := b.floor.caller.do(http.MethodPost, b.sys.echoURL+"/orders", []byte(order), nil); err != nil {
			return err
		}
		post[i] = time.Since(from)
	}
	b.out.Machine = newMachine(quantile(write, 0.5), quantile(post, 0.5))
	return nil
}

// compared holds the system and the floors for a comparison.
type compared struct {
	system             subject
	commits            float64 // of the system, for one operation
	least, equal, only *floors // only: the least writes, each with its own fdatasync
}

// compare counts the writes of the system, which also warms it up, and prepares the floors.
func (b *bench) compare(s scenario) (c compared, err error) {
	c.system = newTurns(b.sys, s)
	switch {
	case s.run:
		c.system = newRuns(b.sys, s)
	case s.job:
		c.system = newJobs(b.sys, s)
	case s.routed:
		c.system = &routes{sys: b.sys, of: s}
	}
	if c.commits, err = writesOf(b.sys, c.system, b.counted); err != nil {
		return c, err
	}
	c.least = newFloor(b.floor, s, 0)
	c.equal = newFloor(b.floor, s, max(0, int(math.Round(c.commits))-leastWrites(s)))
	c.only = c.least.apart()
	for _, f := range []*floors{c.least, c.equal, c.only} {
		if err := f.operate(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// against returns the system, and the floors unless the system is measured alone.
func (b *bench) against(system subject, floors ...subject) []subject {
	if b.alone {
		return []subject{system}
	}
	return append([]subject{system}, floors...)
}

func (b *bench) scenario(s scenario) error {
	c, err := b.compare(s)
	if err != nil {
		return err
	}
	took, err := latencies(b.against(c.system, c.least, c.equal), b.latency)
	if err != nil {
		return err
	}
	l := latency{
		Name: s.name, Operations: len(took[0]), Commits: c.commits, FloorWrites: leastWrites(s), Aim: s.most,
		P50: micros(quantile(took[0], 0.5)), P95: micros(quantile(took[0], 0.95)),
	}
	if !b.alone {
		l.FloorP50, l.FloorP95 = micros(quantile(took[1], 0.5)), micros(quantile(took[1], 0.95))
		l.EqualP50 = micros(quantile(took[2], 0.5))
		l.Ratio, l.RatioEqual = ratio(l.P50, l.FloorP50), ratio(l.P50, l.EqualP50)
	}
	b.out.Latency = append(b.out.Latency, l)
	for _, clients := range s.loads {
		if err := b.load(s, c, clients); err != nil {
			return err
		}
	}
	return nil
}

// load measures throughput at one concurrency.
func (b *bench) load(s scenario, c compared, clients int) error {
	done, err := throughputs(b.against(c.system, c.least, c.only), clients, b.slice, b.rounds)
	if err != nil {
		return err
	}
	t := throughput{
		Name: s.name, Clients: clients, Operations: done[0].operations, Rate: done[0].perSecond(),
		CPU: micros(done[0].cpuEach()), Aim: s.least[clients],
	}
	if !b.alone {
		t.FloorRate, t.FloorCPU, t.ApartRate = done[1].perSecond(), micros(done[1].cpuEach()), done[2].perSecond()
		t.Ratio, t.RatioApart = ratio(t.Rate, t.FloorRate), ratio(t.Rate, t.ApartRate)
	}
	b.out.Load = append(b.out.Load, t)
	return nil
}
