package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Limits of a command.
const (
	DefaultTimeout = 2 * time.Minute
	MaxTimeout     = 10 * time.Minute

	drain = 2 * time.Second // how long the output of dead processes is read
)

// Errors of Run and Check. Package locale has a sentence for each: the missing feature, and the next action.
var (
	ErrPlatform   = fault.New(fault.Unavailable, "sandbox.platform")   // no sandbox on this operating system: Args["os"]
	ErrNamespaces = fault.New(fault.Unavailable, "sandbox.namespaces") // the kernel, or a container, refuses namespaces
	ErrSysctl     = fault.New(fault.Unavailable, "sandbox.sysctl")     // a setting of the kernel forbids them: Args["name"], Args["value"]
	ErrAppArmor   = fault.New(fault.Unavailable, "sandbox.apparmor")   // AppArmor forbids them: Args["program"]
	ErrLandlock   = fault.New(fault.Unavailable, "sandbox.landlock")   // the kernel has no Landlock, or an old one
	ErrRoot       = fault.New(fault.Unavailable, "sandbox.root")       // this kernel does not limit the processes of root
	ErrSetup      = fault.New(fault.Unavailable, "sandbox.setup")      // another step failed: Args["step"]
	ErrShell      = fault.New(fault.Unavailable, "sandbox.shell")      // there is no bash and no sh
	ErrFolder     = fault.New(fault.Invalid, "sandbox.folder")         // no such folder: Args["path"]
	ErrWide       = fault.New(fault.Invalid, "sandbox.wide")           // it holds the home folder, or the system: Args["path"]
	ErrRecord     = fault.New(fault.Invalid, "sandbox.record")         // of Kept: the file is broken: Args["path"]
	ErrTimeout    = fault.New(fault.Invalid, "sandbox.timeout")        // Args["max"] in seconds
)

// A Command is a line for a shell, with the files that its process may read and write. Paths are absolute; those beside
// Workspace that do not exist are skipped.
type Command struct {
	Line      string   // read by bash, or by sh where there is no bash
	Args      []string // $1, $2, … of the line
	Workspace string   // can be read and written
	Dir       string   // where the line runs, below Workspace; "" is Workspace
	Env       map[string]string
	Timeout   time.Duration // 0 is DefaultTimeout
	ReadOnly  []string      // can be read beside the system's programs
	Write     []string      // writable paths beside Workspace. Others may run the files that a command leaves there: name no shared cache
	Hidden    []string      // files and folders below Workspace, by slashed names, that are empty for the line: see Protect

	// Masked has masked contents of files below Workspace, by slashed names, which a line reads instead of the files. A
	// changed copy is carried over to the file, unless a mask is lost. Without a sandbox the line reads the files.
	Masked map[string][]byte

	Known     *Known      // of the workspace; Protect fills it. Nil: its files are read anew
	known     *mask.Known // secrets that an output is searched for
	revealing []string    // files that may reveal a secret
	shown     workspace.Shown
	held      []string            // control files of git in the workspace, by slashed names
	stages    []string            // git folders and files that it can write
	indexes   map[string][]string // of git, as in obeyed
	git       *gitSight

	carrying *carrying

	Tell func(Masks) // gets what the person is to hear when the line has run; may be nil

	Unconfined bool       // run without a sandbox
	Language   locale.Tag // of the sentence in Output; "" is Spanish
}

// A Result is the end of a command.
type Result struct {
	Code     int    // exit code; 128 + the signal when a signal ended it
	Output   string // standard output and error, at most 200 lines of 1,000 bytes, without control characters and secrets
	Secrets  int    // that have a mask in Output
	Killed   bool   // a signal ended it: ours, or another
	TimedOut bool   // its time was over
	Duration time.Duration
	Masks    Masks
}

// Run runs a command to its end, and ends it when ctx ends or its time is over. An error means that it was not
// started; it is one of the errors of this package. Main must have been called first.
func Run(ctx context.Context, c Command) (Result, error) {
	c, err := c.checked()
	if err != nil {
		return Result{}, err
	}
	sh, err := findShell()
	if err != nil {
		return Result{}, err
	}
	if err := inheritNothing(); err != nil {
		return Result{}, ErrSetup.With("step", "descriptors").Because(err)
	}
	c.learn()
	c.git, c.carrying = &gitSight{}, &carrying{writes: !c.onlyReads()}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out, start := &output{}, time.Now()
	run := runConfined
	if c.Unconfined {
		run = runUnconfined
	}
	result, err := run(limited, c, sh, out)
	if err != nil {
		return Result{}, err
	}
	result.TimedOut = result.Killed && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil
	result.Duration = time.Since(start)
	result.Output, result.Secrets = c.withoutSecrets(out.text(c.Language))
	result.Output = shortened(result.Output)
	result.Secrets += out.keys
	result.Masks = c.written(start)
	c.explain(&result, start)
	if c.Tell != nil {
		c.Tell(result.Masks)
	}
	return result, nil
}

// checked returns the command with real paths and its defaults.
func (c Command) checked() (Command, error) {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		return c, ErrTimeout.With("max", "600")
	}
	if c.Language == "" {
		c.Language = locale.Spanish
	}
	if c.Dir == "" {
		c.Dir = c.Workspace
	}
	var err error
	if c.Workspace, err = realFolder(c.Workspace); err != nil {
		return c, err
	}
	if c.Dir, err = realFolder(c.Dir); err != nil {
		return c, err
	}
	if !isWithin(c.Dir, c.Workspace) {
		return c, ErrFolder.With("path", c.Dir)
	}
	if c.ReadOnly, err = realPaths(c.ReadOnly); err != nil {
		return c, err
	}
	if c.Write, err = realPaths(c.Write); err != nil {
		return c, err
	}
	for _, path := range slices.Concat([]string{c.Workspace}, c.ReadOnly, c.Write) {
		if isWide(path) {
			return c, ErrWide.With("path", path)
		}
	}
	for _, name := range slices.AppendSeq(slices.Clone(c.Hidden), maps.Keys(c.Masked)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return c, ErrFolder.With("path", name)
		}
	}
	return c, nil
}

// realFolder returns the path of a folder without symbolic links.
func realFolder(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", ErrFolder.With("path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", ErrFolder.With("path", path).Because(err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", ErrFolder.With("path", path).Because(err)
	}
	return real, nil
}

// realPaths returns paths without symbolic links, and leaves out those that do not exist.
func realPaths(paths []string) ([]string, error) {
	var found []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, ErrFolder.With("path", path)
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, ErrFolder.With("path", path).Because(err)
		default:
			found = append(found, real)
		}
	}
	return found, nil
}

// Protect adds the hidden files of the workspace, and its sockets, FIFOs and devices, to Hidden, and those that usually
// have secrets to Masked. It adds the control files of git in the workspace and in the folders of Write to ReadOnly: each
// .git, the targets of a gitdir file, a commondir and links, bare repositories, and hooks, configurations and programs
// that a setting names. A command can read them, because many programs ask git. It cannot write them, because the git of
// the person would run its changes. A git folder or a file that Write names can be written.
//
// A command can still make a repository where there was none, and replace a link. The Guard finds that afterwards, and
// does not need the command to be confined.
func (c *Command) Protect(shown workspace.Shown) (*Guard, error) {
	var err error
	if c.Workspace, err = filepath.EvalSymlinks(c.Workspace); err != nil { // a walk does not follow a link at its root
		return nil, ErrFolder.With("path", c.Workspace).Because(err)
	}
	written, err := realPaths(c.Write)
	if err != nil {
		return nil, err
	}
	o := newObeyed(c.Workspace, written)
	o.around()
	entries, err := readFolder(c.Workspace)
	if err != nil {
		return nil, err
	}
	c.protect(shown, o, "", entries)
	for _, root := range o.roots[1:] {
		o.into(root)
	}
	c.maskSettings(shown, o)
	c.shown, c.stages, c.indexes = shown, o.written, o.indexes
	k := cmp.Or(c.Known, &Known{})
	known, copies, opaque := k.of(c.Workspace, shown, c.revealing)
	c.known = known
	for _, name := range opaque {
		c.hide(name)
	}
	for name, content := range copies {
		if _, has := c.Masked[name]; !has && !shown.Hidden(name) {
			c.copyOf(name, content)
		}
	}
	c.maskCopies(k)
	closed := o.closed()
	for _, path := range closed {
		if isWithin(path, c.Workspace) {
			c.held = append(c.held, c.slashed(path))
		}
	}
	c.ReadOnly = append(c.ReadOnly, closed...)
	return &Guard{o}, nil
}

// protect does the work of Protect in a folder, whose slashed name ends with "/".
func (c *Command) protect(shown workspace.Shown, o *obeyed, folder string, entries []fs.DirEntry) {
	o.visit(filepath.Join(c.Workspace, filepath.FromSlash(folder)), entries)
	for _, e := range entries {
		name := folder + e.Name()
		path := filepath.Join(c.Workspace, filepath.FromSlash(name))
		c.mask(shown, name, e)
		switch {
		case e.IsDir() && isGitName(e.Name()):
		case e.IsDir() && !shown.Enters(name):
			c.Hidden = append(c.Hidden, name)
			o.into(path) // without a sandbox it is not hidden
		case e.IsDir():
			entries, _ := readFolder(path) // a command cannot read it either
			c.protect(shown, o, name+"/", entries)
		case e.Type().IsRegular() && e.Name() != gitFolder && shown.Hidden(name), e.Type()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0:
			c.Hidden = append(c.Hidden, name)
		}
	}
}

// isWithin reports whether a path is a folder, or below it.
func isWithin(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// isWide reports whether a path holds a whole home folder, or is a part of the running system. Secrets would be
// found below it.
func isWide(path string) bool {
	homes := []string{os.Getenv("HOME")}
	if u, err := user.Current(); err == nil {
		homes = append(homes, u.HomeDir)
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if isWithin(home, path) {
			return true
		}
	}
	for _, system := range []string{"/proc", "/sys", "/dev", "/run/user"} {
		if isWithin(path, system) || isWithin(system, path) {
			return true
		}
	}
	return slices.ContainsFunc([]string{"/etc", "/usr", "/var", "/run"}, func(system string) bool { return isWithin(system, path) })
}

// environment returns the variables of a command: a few of ours, and those that the configuration names.
func (c Command) environment(home, temp string) []string {
	all := map[string]string{"PATH": os.Getenv("PATH"), "LANG": os.Getenv("LANG"), "HOME": home, "TMPDIR": temp}
	if all["PATH"] == "" {
		all["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	if all["LANG"] == "" {
		all["LANG"] = "C.UTF-8"
	}
	for name, value := range c.Env {
		all[name] = value
	}
	list := []string{}
	for name, value := range all {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// killed is the result of a command that was killed with all its processes.
func killed() Result { return Result{Code: 128 + 9, Killed: true} }
