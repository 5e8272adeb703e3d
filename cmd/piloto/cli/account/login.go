package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
)

func (g *Group) loginCommand() *cobra.Command {
	return &cobra.Command{
		Use: "login URL", Short: "Keep the token of a deployment, for you alone; the token is read from stdin", Args: usage.Exactly("URL"),
		Long: `Keep the token of a deployment. The token is read from stdin, or asked for without showing it, and never a flag:

  piloto login https://piloto.example.org < token.txt

It is sent to that address only. --profile names it, when there is more than one deployment.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			origin, err := reach.OriginOf(args[0])
			if err != nil {
				return err
			}
			token, err := g.Con.Secret(g.Con.Text("cli.token"))
			if err != nil {
				return err
			}
			known, err := g.Deployment.ReadProfiles()
			if err != nil {
				return err
			}
			c := client.New(client.Target{Origin: origin, Token: token}, string(g.Con.Tag))
			if _, err := client.Get[httpapi.ChatList](cmd.Context(), c, "/api/chats", url.Values{"limit": {"1"}}); err != nil {
				return err
			}
			name := g.Deployment.Profile
			if name == "" {
				u, err := url.Parse(origin)
				if err != nil {
					return err
				}
				name = u.Host
			}
			live, err := c.LiveOrigin(cmd.Context())
			if errors.Is(err, client.ErrOtherSocket) {
				g.Con.Report("cli.other_socket", "url", origin)
			} // any other error: it has no socket now, and answers come whole
			known.Known[name], known.Current = reach.Profile{Origin: origin, Token: token, Live: live}, name
			if err := g.Deployment.WriteProfiles(known); err != nil {
				return err
			}
			g.Con.Report("cli.logged_in", "name", name, "url", origin)
			if live != "" {
				g.Con.Report("cli.logged_live", "url", live)
			}
			return nil
		},
	}
}

func (g *Group) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout [NAME]", Short: "Forget the token of a deployment on this machine", Args: usage.Between(0, "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := g.Deployment.ReadProfiles()
			if err != nil {
				return err
			}
			name := known.Current
			if len(args) == 1 {
				name = args[0]
			}
			if name == "" {
				return ending.Miswritten(ending.Refusal("cli.no_current"))
			}
			if _, ok := known.Known[name]; !ok {
				return ending.Miswritten(ending.Refusal("cli.no_profile", "name", name))
			}
			delete(known.Known, name)
			if known.Current == name {
				known.Current = ""
			}
			return g.Deployment.WriteProfiles(known)
		},
	}
}

func (g *Group) profilesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "profiles [NAME]", Short: "List the deployments that login stored, or choose the one in use", Args: usage.Between(0, "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := g.Deployment.ReadProfiles()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if _, ok := known.Known[args[0]]; !ok && args[0] != reach.Here {
					return ending.Miswritten(ending.Refusal("cli.no_profile", "name", args[0]))
				}
				if known.Current = args[0]; known.Current == reach.Here {
					known.Current = ""
				}
				return g.Deployment.WriteProfiles(known)
			}
			var rows [][]string
			shown := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(known.Known)) {
				mark := ""
				if name == known.Current {
					mark = "*"
				}
				shown[name] = known.Known[name].Origin
				rows = append(rows, []string{mark, name, known.Known[name].Origin})
			}
			return g.Con.List(map[string]any{"current": known.Current, "profiles": shown}, []string{"cli.current", "cli.name", "cli.url"}, rows)
		},
	}
}

func (g *Group) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Whether the deployment and what it depends on answer (exit 9: no)", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.Deployment.Reach(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				h, _, err := c.Health(ctx)
				if err != nil {
					return err
				}
				err = g.Con.Result(h, fmt.Sprintf("%s  %s  %s", c.Origin, h.Version, HealthText(g.Con, h)))
				if err == nil && h.Status == "unavailable" {
					err = ending.Exit(ending.Unreachable)
				}
				return err
			})
		},
	}
}

// HealthText returns the state of a deployment, with those of its parts that are not well.
func HealthText(con *console.Console, h httpapi.Health) string {
	text := con.Word("cli.health.", h.Status)
	for _, name := range slices.Sorted(maps.Keys(h.Checks)) {
		if state := h.Checks[name]; state != "ok" {
			text += ", " + name + ": " + con.Word("cli.health.", state)
		}
	}
	return visible.ScreenLine(text)
}
