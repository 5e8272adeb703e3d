package cli

import (
	"fmt"
	"io"
	"localaws/alone"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"piloto/infra/local/process"
	"piloto/internal/ground/version"
)

// addMachine adds the commands of this machine.
func (a *app) addMachine(root *cobra.Command) {
	for _, cmd := range []*cobra.Command{
		a.upCommand(), a.backupCommand(), a.restoreCommand(), a.openCommand(), a.rotateCommand(), a.olderCommand(), a.enginesCommand(),
		a.doctorCommand(), a.validateCommand(), a.versionCommand(),
	} {
		cmd.GroupID = "machine"
		root.AddCommand(cmd)
	}
}

// none refuses arguments.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(refusal("cli.wrong.argument", "name", args[0]))
	}
	return nil
}

// exactly wants a number of arguments, whose names are given.
func exactly(names ...string) cobra.PositionalArgs { return between(len(names), names...) }

// between wants at least a number of arguments, and at most those whose names are given.
func between(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(refusal("cli.wrong.missing", "name", names[len(args)], "usage", usageOf(cmd)))
		case len(args) > len(names):
			return usage(refusal("cli.wrong.too_many", "name", args[len(names)], "usage", usageOf(cmd)))
		}
		return nil
	}
}

// usageOf returns how a command is written, without its flags.
func usageOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

func (a *app) upCommand() *cobra.Command {
	o := process.Options{}
	cmd := &cobra.Command{
		Use: "up", Short: "Start everything in one process, on http://localhost:8080",
		Long: `Start everything in one process: the API, the page, and the engines over one data folder.

Settings are in the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, PILOTO_TOKEN and others
(docs/one-machine.md). Without a key a small demonstration model answers.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Person = a.person()
			if o.AWS != "" && !process.OnThisMachine(o.AWS) {
				return usage(refusal("cli.wrong.loopback", "name", "--aws", "value", o.AWS))
			}
			settings, err := process.SettingsFrom(a.getenv)
			if err != nil {
				return usage(err)
			}
			if o.Data, err = a.makeData(); err != nil {
				return err
			}
			var also io.Writer
			if a.global.verbose > 0 {
				also = a.out
			}
			o.Log = process.NewLog(o.Data, also)
			o.Ready = func(process.Address) { a.keepData(o.Data) }
			err = process.Serve(cmd.Context(), o, settings, a.out)
			if process.IsMiswritten(err) {
				return usage(err)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "`address` of the API and the page")
	f.StringVar(&o.AWS, "aws", "", "also serve the DynamoDB and Step Functions protocols at this `address`, on loopback (127.0.0.1:8000)")
	f.BoolVar(&o.Expose, "expose", false, "let other machines reach --addr, without TLS: the token travels readable")
	f.StringSliceVar(&o.Hosts, "host", nil, "another `name` by which browsers reach this process, behind a proxy or a tunnel: piloto.example.org")
	f.StringVar(&o.Template, "template", "", "a template.yaml to run; without it the one in this executable")
	f.StringVar(&o.Lambda, "lambda", process.InProcess, "how functions run: inprocess, or process: as the executables that deploy")
	f.StringVar(&o.Functions, "functions", "", "`folder` of NAME/bootstrap for --lambda=process; without it they are built, which needs Go")
	return cmd
}

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write all of the data folder to a new file, also while a process has it", Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			held, err := process.Backup(cmd.Context(), data, args[0])
			if err != nil {
				return err
			}
			lines := []string{a.text("cli.backup.made", "folder", data, "file", args[0])}
			for _, f := range held.Files {
				lines = append(lines, "  "+a.text("cli.backup.file", "name", fmt.Sprintf("%-24s", f.Name), "n", fmt.Sprint(f.Size)))
			}
			if held.Objects > 0 {
				lines = append(lines, "  "+a.text("cli.backup.objects", "name", fmt.Sprintf("%-24s", "objects/"), "n", fmt.Sprint(held.Size), "objects", fmt.Sprint(held.Objects)))
			}
			return a.printLines(append(lines, "  "+a.text("cli.backup.secrets"))...)
		},
	}
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make the data folder, which must have nothing, from a backup", Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			held, err := process.Restore(cmd.Context(), args[0], data)
			if err != nil {
				return err
			}
			a.keepData(data)
			return a.printLines(a.text("cli.restored", "folder", data, "file", args[0], "at", moment(held.At)), "  "+a.text("cli.restored.runs"))
		},
	}
}

func (a *app) openCommand() *cobra.Command {
	return &cobra.Command{
		Use: "open", Short: "Print an address that signs in, once, to the process that has the data folder", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			return process.SignIn(cmd.Context(), data, a.out)
		},
	}
}

func (a *app) rotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate-key", Short: "Have receipts signed with a new key from the next start on", Args: none,
		RunE: func(*cobra.Command, []string) error {
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			key, err := process.RotateKey(data)
			if err != nil {
				return err
			}
			a.keepData(data)
			return a.printLines(a.text("cli.rotated", "file", key))
		},
	}
}

func (a *app) olderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "accept-older", Short: "Go on from the commit before where the newest of the data file is damaged", Args: none,
		RunE: func(*cobra.Command, []string) error {
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			file, err := process.AcceptOlder(data)
			if err != nil {
				return err
			}
			return a.printLines(a.text("cli.older", "file", file))
		},
	}
}

func (a *app) enginesCommand() *cobra.Command {
	var o alone.Options
	cmd := &cobra.Command{
		Use: "engines", Short: "Serve only the engines, a small AWS for tests of your own", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Data = a.global.data
			if !cmd.Flags().Changed("data") { // never the data of a deployment
				o.Data = ".localaws"
				if err := a.ownEngines(o.Data); err != nil {
					return err
				}
			}
			if err := o.Check(); err != nil {
				return usage(refusal("cli.wrong.loopback", "name", "--listen", "value", o.Listen))
			}
			return alone.Serve(cmd.Context(), o, a.out, a.errOut)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8000", "`address` on this machine; port 0: any that is free")
	cmd.Flags().StringVar(&o.Lambda, "lambda-url", "", "`URL` of the Lambda API that tasks call functions through (http://127.0.0.1:3001)")
	return cmd
}

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "validate-config [FILE]", Short: "Check a configuration: unknown keys, values that do not fit", Args: between(0, "FILE"),
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.settle() }, // what is checked is not in force
		RunE: func(cmd *cobra.Command, args []string) error {
			file := configFile
			if len(args) == 1 {
				file = args[0]
			} else if a.global.config != "" {
				file = a.global.config
			}
			return a.validate(cmd.Root(), file)
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: none,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.out, version.String())
			return err
		},
	}
}

// readInput reads a file, or stdin when the name is "-".
func (a *app) readInput(name string, most int64) ([]byte, error) {
	var from io.Reader = a.in
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the person names it
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		err = usage(errFileTooBig.With("name", name).With("max", strconv.FormatInt(most, 10)))
	}
	return text, err
}
