// Package talk owns the commands that converse.
package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// Group are the commands that converse.
type Group struct {
	Con        *console.Console
	Deployment *reach.Deployment
	Runs       *runs.Group

	NoStream   bool
	socketTold bool // that the socket of the deployment is not used
}

// Commands returns the commands of the group.
func (g *Group) Commands() []*cobra.Command {
	return []*cobra.Command{g.chatCommand(), g.sendCommand(), g.chatsCommand()}
}

func (g *Group) sendCommand() *cobra.Command {
	var f conversationFlags
	cmd := &cobra.Command{
		Use: "send MESSAGE", Short: "Send one message and print what comes of it; a plan waits (exit 6)", Args: usage.Exactly("MESSAGE"),
		Long: `Send one message and print what comes of it. "-" reads the message from stdin.

The text does what it does on the page: a whole message such as «confirmo» confirms the plan that waits in the chat.
A plan is printed whole, and waits: piloto runs confirm ID --digest DIGEST.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			message := args[0]
			if message == "-" {
				text, err := g.Con.ReadInput("-", conversation.MaxMessage)
				if err != nil {
					return err
				}
				message = string(text)
			}
			if visible.Blank(message) {
				return ending.Miswritten(ending.Refusal("cli.wrong.message"))
			}
			return g.Deployment.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				chat, err := f.openChat(ctx, c)
				if err != nil {
					return err
				}
				got, err := g.Send(ctx, c, httpapi.SendRequest{ChatID: chat, Message: message})
				if err != nil {
					if f.chat == "" {
						forgetRefused(ctx, c, chat, err)
					}
					return err
				}
				return g.finishSend(ctx, c, got, f.wait)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.wait, "wait", true, "when the message confirmed a plan: wait for its end")
	return cmd
}

// Send sends one message. A deployment that does not answer has the same message, once.
func (g *Group) Send(ctx context.Context, c *client.Client, message httpapi.SendRequest) (httpapi.SendAnswer, error) {
	message.TimeZone = client.Zone()
	call := client.Call{Method: http.MethodPost, Path: "/api/send", Body: message, Key: ids.Secret()}
	got, err := client.Send[httpapi.SendAnswer](ctx, c, call)
	if err == nil && got.Chat.ID == "" {
		err = c.Strange(call, client.CameOther, errors.New("it answered with no chat"))
	}
	return got, err
}

// finishSend prints the answer to a message, and returns how the command ends.
func (g *Group) finishSend(ctx context.Context, c *client.Client, got httpapi.SendAnswer, wait bool) error {
	if g.Con.JSON {
		if err := g.Con.PrintJSON(got); err != nil {
			return err
		}
	} else if err := g.printAnswer(got); err != nil {
		return err
	}
	g.tellWaiting(got)
	g.Con.Report("cli.chat", "id", got.Chat.ID)
	if got.Kind == turn.KindQueued && got.Run != nil && wait {
		return g.Runs.Follow(ctx, c, got.Run.RunID)
	}
	return ending.Exit(codeOfTurn(got))
}

// waiting returns the plan that waits after an answer: the one that was proposed, or the one beside a text; nil: none.
func waiting(got httpapi.SendAnswer) *httpapi.Run {
	if got.Kind == turn.KindPlan {
		return got.Run
	}
	return got.Pending
}

// tellWaiting says how the plan that waits after an answer is confirmed. Beside a text it names the plan.
func (g *Group) tellWaiting(got httpapi.SendAnswer) {
	if r := waiting(got); r != nil {
		g.namePending(got)
		g.Runs.TellPlan(*r)
	}
}

// namePending names the plan that waits beside a text.
func (g *Group) namePending(got httpapi.SendAnswer) {
	if got.Pending != nil {
		g.Con.Report("cli.still_waits", "goal", visible.Line(got.Pending.Goal))
	}
}

// codeOfTurn returns the exit code of a turn.
func codeOfTurn(got httpapi.SendAnswer) ending.Code {
	switch {
	case got.Block != nil:
		return ending.Blocked
	case got.Kind == turn.KindPlan:
		return ending.Waits
	case got.Status == conversation.Partial:
		return ending.Partial
	case got.Status == conversation.Failed:
		return ending.Failed
	}
	return ending.Success
}

// printAnswer prints the answer of a turn: the text, and the plan whole.
func (g *Group) printAnswer(got httpapi.SendAnswer) error {
	for _, m := range got.Before {
		if err := g.PrintText(m); err != nil {
			return err
		}
	}
	if got.Kind == turn.KindPlan && got.Run != nil {
		w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
		w.Plan(*got.Run)
		if err := g.Con.Show(g.Con.Out, w); err != nil {
			return err
		}
		g.sayNotes(got.Message)
		return nil
	}
	if err := g.PrintText(got.Message); err != nil {
		return err
	}
	if n := len(got.Message.Sources); n > 0 {
		g.Con.Report("cli.sources", "n", fmt.Sprint(n))
	}
	if got.Block != nil {
		g.Con.Say(visible.Line(got.Block.Action))
	}
	return nil
}

// PrintText prints a text of the assistant, after the lines that contradict it. Its other notes go to stderr.
func (g *Group) PrintText(m wire.Message) error {
	if err := g.printWarnings(m); err != nil {
		return err
	}
	if m.Content == "" { // it was streamed
		g.sayNotes(m)
		return nil
	}
	text := m.Content
	if !g.Con.IsTerm { // a letter that imitates another one is marked for a person only
		text = visible.Screen(text)
	}
	if err := g.Con.CopyTo(g.Con.Out, text, g.Con.IsTerm); err != nil {
		return err
	}
	g.sayNotes(m)
	return nil
}

func (g *Group) printWarnings(m wire.Message) error {
	w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
	above, _ := conversation.Message(m).SplitNotes()
	for _, n := range above {
		w.Warning(n.Warning().In(g.Con.Tag))
	}
	return g.Con.Show(g.Con.Out, w)
}

func (g *Group) sayNotes(m wire.Message) {
	_, below := conversation.Message(m).SplitNotes()
	for _, n := range below {
		g.Con.Say("! " + visible.Line(n.Text))
	}
}

func (g *Group) chatCommand() *cobra.Command {
	var f conversationFlags
	var prompt string
	cmd := &cobra.Command{
		Use: "chat", Short: "Converse; what would act is shown and asks first", Args: usage.None,
		Long: `Converse in a terminal. Answers are written as they come. A plan is shown whole, and then:

  y  confirm it        n  reject it        e  edit it ($EDITOR)        d  show it as JSON

A question with choices shows them numbered: a number answers with that choice.
Anything else is the next message. /quit or the end of the input ends the conversation; runs go on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.Deployment.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				chat, err := f.openChat(ctx, c)
				if err != nil {
					return err
				}
				return g.converse(ctx, c, httpapi.SendRequest{ChatID: chat, Message: prompt})
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&g.NoStream, "no-stream", false, "write texts when they are whole")
	cmd.Flags().StringVarP(&prompt, "prompt", "p", "", "the first `message`; without a terminal the only one")
	return cmd
}

// converse sends messages until the input ends. It begins with first, unless that has no text. Without a person at the
// terminal each line is a message, and nothing is asked.
func (g *Group) converse(ctx context.Context, c *client.Client, first httpapi.SendRequest) error {
	g.Con.Report("cli.chat", "id", first.ChatID)
	if g.Con.Asks {
		g.Con.Report("cli.chat.leave")
	}
	last := ending.Success
	prompt := first.Message
	message, typed, err := prompt, "", error(nil)
	var shown plan.Digest             // of the plan that was printed last
	var options []conversation.Option // of the question that the next message answers
	for begins := true; ; begins = false {
		if !begins && prompt != "" && !g.Con.Asks {
			return ending.Exit(last)
		}
		switch {
		case typed != "":
			message, typed = typed, ""
		case !begins || prompt == "":
			message, err = g.nextLine(ctx)
		}
		switch {
		case errors.Is(err, io.EOF):
			return ending.Exit(last)
		case err != nil:
			return err
		}
		switch strings.TrimSpace(message) {
		case "":
			continue
		case "/quit", "/salir":
			return ending.Exit(last)
		}
		got, err := g.stream(ctx, c, httpapi.SendRequest{ChatID: first.ChatID, Message: conversation.Choose(options, message)})
		if err != nil {
			if ctx.Err() != nil || !g.Con.Asks {
				return err
			}
			g.Con.Tell(ctx, err)
			continue
		}
		last, options = codeOfTurn(got), got.Message.Options
		switch {
		case got.Kind == turn.KindQueued && got.Run != nil:
			last = ending.CodeOf(g.followToConclusion(ctx, c, got.Run.RunID))
		case waiting(got) != nil && g.Con.Asks && !got.Message.Asks: // the text typed now answers the question
			r := *waiting(got)
			if g.namePending(got); got.Pending != nil && r.Digest != shown {
				g.Runs.ShowPlan(r)
			}
			shown = r.Digest
			if last, typed, err = g.DecideHere(ctx, c, r); err != nil {
				return err
			}
		default:
			g.tellWaiting(got)
		}
	}
}

// nextLine reads the next message, with a prompt when a person is there.
func (g *Group) nextLine(ctx context.Context) (string, error) {
	if g.Con.Asks {
		fmt.Fprint(g.Con.ErrOut, "> ")
	}
	line, err := g.Con.ReadLine(ctx)
	if err != nil && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// DecideHere asks about a plan that was shown. It returns typed text that decides nothing.
func (g *Group) DecideHere(ctx context.Context, c *client.Client, r httpapi.Run) (code ending.Code, typed string, err error) {
	for {
		answer, err := g.Con.Ask(ctx, g.Con.Text("cli.ask_plan"))
		if err != nil {
			return ending.Waits, "", console.IgnoreEOF(err)
		}
		switch strings.ToLower(answer) {
		case "y", "s", "yes", "sí", "si":
			err := g.Runs.Confirm(ctx, c, r)
			if err == nil {
				err = g.followToConclusion(ctx, c, r.RunID)
			}
			g.Con.Tell(ctx, err)
			return ending.CodeOf(err), "", ctx.Err()
		case "n", "no":
			_, err := runs.Act(ctx, c, runs.Action{Run: r.RunID, Name: "cancel"}, httpapi.CancelRequest{Digest: r.Digest})
			if err == nil {
				g.Con.Report("cli.rejected")
			}
			g.Con.Tell(ctx, err)
			return ending.CodeOf(err), "", ctx.Err()
		case "e":
			edited, err := g.Runs.Edit(ctx, c, r)
			if err != nil {
				g.Con.Tell(ctx, err)
				continue
			}
			r = edited
			g.Runs.ShowPlan(r)
		case "d":
			if err := g.Con.PrintJSON(r); err != nil {
				return ending.Waits, "", err
			}
		default:
			return ending.Waits, answer, nil
		}
	}
}

func (g *Group) chatsCommand() *cobra.Command {
	var words string
	var p usage.Page
	list := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the chats, the newest first; with --q search titles and messages", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		query := p.Query()
		if words != "" {
			query.Set("q", words)
		}
		got, err := client.Get[httpapi.ChatList](ctx, c, "/api/chats", query)
		if err != nil {
			return err
		}
		defer g.Con.TellNext(got.Cursor)
		var rows [][]string
		for _, ch := range got.Chats {
			rows = append(rows, []string{ch.ID, console.Moment(ch.UpdatedAt), console.Cut(ch.Title, 60), ch.LastRunStatus})
		}
		return g.Con.List(got, []string{"cli.id", "cli.changed", "cli.title", "cli.status"}, rows)
	})
	p.Register(list)
	list.Flags().StringVar(&words, "q", "", "`words` to search for")
	var format string
	export := g.Deployment.Request(&cobra.Command{
		Use: "export ID", Short: "Write a chat, or last, to stdout as Markdown, JSON or PDF", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		chat, err := ChatOf(ctx, c, args[0])
		if err != nil {
			return err
		}
		raw, err := c.Raw(ctx, client.Call{
			Method: "GET", Path: client.Path("api", "chats", chat, "export"), Query: url.Values{"format": {format}},
		}, "*/*")
		if err != nil {
			return err
		}
		_, err = g.Con.Out.Write(raw)
		return err
	})
	export.Flags().StringVar(&format, "format", "md", "md, json or pdf")
	return usage.Group(&cobra.Command{Use: "chats", Short: "List the chats, or search them; export one"}, list, export)
}
