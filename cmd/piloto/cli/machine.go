package cli

import (
	"fmt"
	"io"
	"localaws/alone"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/settings"
	"piloto/cmd/piloto/cli/usage"
	"piloto/infra/local/process"
	"piloto/internal/ground/version"
)

// machineGroup are the commands about this machine and its data folder.
type machineGroup struct {
	con        *console.Console
	deployment *reach.Deployment
	folders    *reach.Folders
	config     *settings.Configuration
}

// commands returns the commands of the group.
func (g *machineGroup) commands() []*cobra.Command {
	return []*cobra.Command{
		g.upCommand(), g.backupCommand(), g.restoreCommand(), g.openCommand(), g.rotateCommand(), g.olderCommand(), g.enginesCommand(),
		g.validateCommand(), g.versionCommand(),
	}
}

func (g *machineGroup) upCommand() *cobra.Command {
	o := process.Options{}
	cmd := &cobra.Command{
		Use: "up", Short: "Start everything in one process, on http://localhost:8080",
		Long: `Start everything in one process: the API, the page, and the engines over one data folder.

Settings are in the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, PILOTO_TOKEN and others
(docs/one-machine.md). Without a key a small demonstration model answers.`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Person = g.person()
			if o.AWS != "" && !process.OnThisMachine(o.AWS) {
				return ending.Miswritten(ending.Refusal("cli.wrong.loopback", "name", "--aws", "value", o.AWS))
			}
			settings, err := process.SettingsFrom(g.con.Getenv)
			if err != nil {
				return ending.Miswritten(err)
			}
			if o.Data, err = g.folders.MakeData(); err != nil {
				return err
			}
			var also io.Writer
			if g.con.Verbose > 0 {
				also = g.con.Out
			}
			o.Log = process.NewLog(o.Data, also)
			o.Ready = func(process.Address) { g.folders.KeepData(o.Data) }
			err = process.Serve(cmd.Context(), o, settings, g.con.Out)
			if process.IsMiswritten(err) {
				return ending.Miswritten(err)
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

func (g *machineGroup) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write all of the data folder to a new file, also while a process has it", Args: usage.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := g.folders.DataFolder()
			if err != nil {
				return err
			}
			held, err := process.Backup(cmd.Context(), data, args[0])
			if err != nil {
				return err
			}
			lines := []string{g.con.Text("cli.backup.made", "folder", data, "file", args[0])}
			for _, f := range held.Files {
				lines = append(lines, "  "+g.con.Text("cli.backup.file", "name", fmt.Sprintf("%-24s", f.Name), "n", fmt.Sprint(f.Size)))
			}
			if held.Objects > 0 {
				lines = append(lines, "  "+g.con.Text("cli.backup.objects", "name", fmt.Sprintf("%-24s", "objects/"), "n", fmt.Sprint(held.Size), "objects", fmt.Sprint(held.Objects)))
			}
			return g.con.PrintLines(append(lines, "  "+g.con.Text("cli.backup.secrets"))...)
		},
	}
}

func (g *machineGroup) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Make the data folder, which must have nothing, from a backup", Args: usage.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := g.folders.DataFolder()
			if err != nil {
				return err
			}
			held, err := process.Restore(cmd.Context(), args[0], data)
			if err != nil {
				return err
			}
			g.folders.KeepData(data)
			return g.con.PrintLines(g.con.Text("cli.restored", "folder", data, "file", args[0], "at", console.Moment(held.At)), "  "+g.con.Text("cli.restored.runs"))
		},
	}
}

func (g *machineGroup) openCommand() *cobra.Command {
	return &cobra.Command{
		Use: "open", Short: "Print an address that signs in, once, to the process that has the data folder", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := g.folders.DataFolder()
			if err != nil {
				return err
			}
			return process.SignIn(cmd.Context(), data, g.con.Out)
		},
	}
}

func (g *machineGroup) rotateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rotate-key", Short: "Have receipts signed with a new key from the next start on", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := g.folders.DataFolder()
			if err != nil {
				return err
			}
			key, err := process.RotateKey(cmd.Context(), data)
			if err != nil {
				return err
			}
			g.folders.KeepData(data)
			return g.con.PrintLines(g.con.Text("cli.rotated", "file", key))
		},
	}
}

func (g *machineGroup) olderCommand() *cobra.Command {
	return &cobra.Command{
		Use: "accept-older", Short: "Go on from the commit before where the newest of the data file is damaged", Args: usage.None,
		RunE: func(*cobra.Command, []string) error {
			data, err := g.folders.DataFolder()
			if err != nil {
				return err
			}
			file, err := process.AcceptOlder(data)
			if err != nil {
				return err
			}
			return g.con.PrintLines(g.con.Text("cli.older", "file", file))
		},
	}
}

func (g *machineGroup) enginesCommand() *cobra.Command {
	var o alone.Options
	cmd := &cobra.Command{
		Use: "engines", Short: "Serve only the engines, a small AWS for tests of your own", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Data = g.folders.Data
			if !cmd.Flags().Changed("data") { // never the data of a deployment
				o.Data = ".localaws"
				if err := g.folders.OwnEngines(o.Data); err != nil {
					return err
				}
			}
			if err := o.Check(); err != nil {
				return ending.Miswritten(ending.Refusal("cli.wrong.loopback", "name", "--listen", "value", o.Listen))
			}
			return alone.Serve(cmd.Context(), o, g.con.Out, g.con.ErrOut)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8000", "`address` on this machine; port 0: any that is free")
	cmd.Flags().StringVar(&o.Lambda, "lambda-url", "", "`URL` of the Lambda API that tasks call functions through (http://127.0.0.1:3001)")
	return cmd
}

func (g *machineGroup) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "validate-config [FILE]", Short: "Check a configuration: unknown keys, values that do not fit", Args: usage.Between(0, "FILE"),
		PersistentPreRunE: func(*cobra.Command, []string) error { return g.config.Apply() }, // the checked file is not in force
		RunE: func(cmd *cobra.Command, args []string) error {
			file := settings.DefaultFile
			if len(args) == 1 {
				file = args[0]
			} else if g.config.File != "" {
				file = g.config.File
			}
			return g.config.Validate(cmd.Root(), file)
		},
	}
}

func (g *machineGroup) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage.None,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(g.con.Out, version.String())
			return err
		},
	}
}
