//go:build failpoints

package failpoint

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// On reports whether failpoints are compiled in.
const On = true

// The variables that arm a process, with the arguments of Arm.
const (
	PointVariable = "PILOTO_FAILPOINT"
	TraceVariable = "PILOTO_FAILPOINT_TRACE"
	AheadVariable = "PILOTO_OFF_FOR"

	// ConcurrencyVariable has the argument of Limit; empty: 0.
	ConcurrencyVariable = "PILOTO_CONCURRENCY"
)

var armed struct {
	sync.Mutex
	point string         // "moment#n"; empty: none
	trace *os.File       // one line for each passed failpoint; nil: none counts
	read  int64          // how much of the trace is in hits
	hits  map[string]int // by failpoint
	ahead time.Duration  // how far the clock is ahead
	most  int            // functions of tasks at once; 0: as many as there are
}

// Environment returns the variables that arm another process of the same deployment.
func Environment() []string {
	armed.Lock()
	defer armed.Unlock()
	list := []string{PointVariable + "=" + armed.point, AheadVariable + "=" + armed.ahead.String()}
	if armed.trace != nil {
		list = append(list, TraceVariable+"="+armed.trace.Name())
	}
	return list
}

// Arm sets the failpoint at which the process dies ("moment#n"; empty: none), the file to which each passed
// failpoint is appended (empty: none, and then there is no point), and how far the clock is ahead. A finished
// append survives the process.
func Arm(point, trace string, ahead time.Duration) error {
	armed.Lock()
	defer armed.Unlock()
	armed.point, armed.ahead, armed.hits, armed.read, armed.trace = point, ahead, map[string]int{}, 0, nil
	if trace == "" {
		if point != "" {
			return fmt.Errorf("failpoint: %s needs a file in which passes are counted", point)
		}
		return nil
	}
	f, err := os.OpenFile(trace, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	armed.trace = f
	return nil
}

// Here marks a failpoint: it counts and traces the pass, and kills the process at the armed one.
func Here(name string) {
	armed.Lock()
	defer armed.Unlock()
	if armed.trace == nil {
		return
	}
	file := int(armed.trace.Fd())
	if err := syscall.Flock(file, syscall.LOCK_EX); err != nil {
		panic(err)
	}
	defer func() { _ = syscall.Flock(file, syscall.LOCK_UN) }()
	countTrace()
	hit := fmt.Sprintf("%s#%d", name, armed.hits[name]+1)
	if _, err := armed.trace.WriteString(hit + "\n"); err != nil {
		panic(err)
	}
	if hit == armed.point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the lock is kept, so that no other failpoint passes
	}
}

// countTrace counts the lines that were added to the trace since it was read, by any process.
func countTrace() {
	added, err := io.ReadAll(io.NewSectionReader(armed.trace, armed.read, math.MaxInt64-armed.read))
	if err != nil {
		panic(err)
	}
	armed.read += int64(len(added))
	for line := range strings.Lines(string(added)) {
		name, _, _ := strings.Cut(line, "#")
		armed.hits[name]++
	}
}

// At marks the failpoint "owner.action.moment".
func At(owner, action, moment string) { Here(owner + "." + action + "." + moment) }

// Verb is At for the nearest exported method on the stack of a type as the runtime writes it:
// "Type" or "(*Type)". Its name is "owner.Method.moment"; the owner "" stands for the package of
// the type. Where the stack has none, the caller of the caller gives its package and its name.
func Verb(owner, of, moment string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	nearest := ""
	for {
		frame, more := frames.Next()
		path, method, ok := strings.Cut(frame.Function, "."+of+".")
		method, _, _ = strings.Cut(method, ".")
		if ok && method != "" && method[0] >= 'A' && method[0] <= 'Z' {
			At(cmp.Or(owner, path[strings.LastIndexByte(path, '/')+1:]), method, moment)
			return
		}
		nearest = cmp.Or(nearest, frame.Function[strings.LastIndexByte(frame.Function, '/')+1:])
		if !more {
			pkg, _, _ := strings.Cut(nearest, ".")
			At(cmp.Or(owner, pkg), nearest[strings.LastIndexByte(nearest, '.')+1:], moment)
			return
		}
	}
}

// Clock returns the clock to use: now, plus the armed difference.
func Clock(now func() time.Time) func() time.Time {
	armed.Lock()
	defer armed.Unlock()
	ahead := armed.ahead
	return func() time.Time { return now().Add(ahead) }
}

// Limit bounds how many functions of tasks may run at once, as in a small account of Lambda; 0: not at all.
func Limit(most int) {
	armed.Lock()
	defer armed.Unlock()
	armed.most = most
}

// Concurrency returns that bound.
func Concurrency() int {
	armed.Lock()
	defer armed.Unlock()
	return armed.most
}
