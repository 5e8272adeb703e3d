package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// addTalk adds the commands that converse.
func (a *app) addTalk(root *cobra.Command) {
	for _, cmd := range []*cobra.Command{a.chatCommand(), a.sendCommand(), a.chatsCommand(), a.runCommand(), a.jobsCommand(), a.workspaceCommand()} {
		cmd.GroupID = "talk"
		root.AddCommand(cmd)
	}
}

func (a *app) sendCommand() *cobra.Command {
	var f conversationFlags
	cmd := &cobra.Command{
		Use: "send MESSAGE", Short: "Send one message and print what comes of it; a plan waits (exit 6)", Args: exactly("MESSAGE"),
		Long: `Send one message and print what comes of it. "-" reads the message from stdin.

The text does what it does on the page: a whole message such as «confirmo» confirms the plan that waits in the chat.
A plan is printed whole, and waits: piloto runs confirm ID --digest DIGEST.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			message := args[0]
			if message == "-" {
				text, err := a.readInput("-", conversation.MaxMessage)
				if err != nil {
					return err
				}
				message = string(text)
			}
			if ref.Blank(message) {
				return usage(refusal("cli.wrong.message"))
			}
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				chat, err := f.openChat(ctx, c)
				if err != nil {
					return err
				}
				got, err := a.send(ctx, c, chat, message)
				if err != nil {
					if f.chat == "" {
						forgetRefused(ctx, c, chat, err)
					}
					return err
				}
				return a.finishSend(ctx, c, got, f.wait)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.wait, "wait", true, "when the message confirmed a plan: wait for its end")
	return cmd
}

// send sends one message. A deployment that does not answer has the same message, once.
func (a *app) send(ctx context.Context, c *client.Client, chat, message string) (httpapi.SendAnswer, error) {
	call := client.Call{Method: http.MethodPost, Path: "/api/send", Body: httpapi.SendRequest{ChatID: chat, Message: message}, Key: ids.Secret()}
	got, err := client.Send[httpapi.SendAnswer](ctx, c, call)
	if err == nil && got.Chat.ID == "" {
		err = c.Strange(call, client.CameOther, errors.New("it answered with no chat"))
	}
	return got, err
}

// finishSend prints what came of a message, and returns how the command ends.
func (a *app) finishSend(ctx context.Context, c *client.Client, got httpapi.SendAnswer, wait bool) error {
	if a.global.json {
		if err := a.printJSON(got); err != nil {
			return err
		}
	} else if err := a.printAnswer(got); err != nil {
		return err
	}
	a.tellWaiting(got)
	a.say(a.text("cli.chat", "id", got.Chat.ID))
	if got.Kind == turn.KindQueued && got.Run != nil && wait {
		return a.follow(ctx, c, got.Run.RunID)
	}
	return exit(codeOfTurn(got))
}

// waiting returns the plan that waits after an answer: the one that was proposed, or the one beside a text; nil: none.
func waiting(got httpapi.SendAnswer) *httpapi.Run {
	if got.Kind == turn.KindPlan {
		return got.Run
	}
	return got.Pending
}

// tellWaiting says how the plan that waits after an answer is confirmed. Beside a text it names the plan.
func (a *app) tellWaiting(got httpapi.SendAnswer) {
	if r := waiting(got); r != nil {
		a.namePending(got)
		a.tellPlan(*r)
	}
}

// namePending names the plan that waits beside a text.
func (a *app) namePending(got httpapi.SendAnswer) {
	if got.Pending != nil {
		a.say(a.text("cli.still_waits", "goal", visible.Line(got.Pending.Goal)))
	}
}

// tellPlan says how a plan that waits is confirmed.
func (a *app) tellPlan(r httpapi.Run) {
	a.say(a.text("cli.confirm_with", "id", r.RunID, "digest", short(r.Digest)))
}

// codeOfTurn returns the exit code of a turn.
func codeOfTurn(got httpapi.SendAnswer) Code {
	switch {
	case got.Block != nil:
		return Blocked
	case got.Kind == turn.KindPlan:
		return Waits
	case got.Status == conversation.Partial:
		return Partial
	case got.Status == conversation.Failed:
		return Failed
	}
	return Success
}

// printAnswer prints what a turn was answered: the text, and the plan whole.
func (a *app) printAnswer(got httpapi.SendAnswer) error {
	for _, m := range got.Before {
		if err := a.printText(m); err != nil {
			return err
		}
	}
	if got.Kind == turn.KindPlan && got.Run != nil {
		w := a.writer(a.isTerm && a.colour)
		w.Plan(*got.Run)
		if err := a.show(a.out, w); err != nil {
			return err
		}
		a.sayNotes(got.Message)
		return nil
	}
	if err := a.printText(got.Message); err != nil {
		return err
	}
	if n := len(got.Message.Sources); n > 0 {
		a.say(a.text("cli.sources", "n", fmt.Sprint(n)))
	}
	if got.Block != nil {
		a.say(visible.Line(got.Block.Action))
	}
	return nil
}

// printText prints a text of the assistant, after the lines that contradict it. What else is noted of it goes to stderr.
func (a *app) printText(m conversation.Message) error {
	if err := a.printWarnings(m); err != nil {
		return err
	}
	if m.Content == "" { // it was streamed
		a.sayNotes(m)
		return nil
	}
	text := m.Content
	if !a.isTerm { // a letter that imitates another one is marked for a person only
		text = visible.Screen(text)
	}
	if err := a.copyTo(a.out, text, a.isTerm); err != nil {
		return err
	}
	a.sayNotes(m)
	return nil
}

func (a *app) printWarnings(m conversation.Message) error {
	w := a.writer(a.isTerm && a.colour)
	above, _ := m.SplitNotes()
	for _, n := range above {
		w.Warning(n.Warning().In(a.tag))
	}
	return a.show(a.out, w)
}

func (a *app) sayNotes(m conversation.Message) {
	_, below := m.SplitNotes()
	for _, n := range below {
		a.say("! " + visible.Line(n.Text))
	}
}

func (a *app) chatCommand() *cobra.Command {
	var f conversationFlags
	var prompt string
	cmd := &cobra.Command{
		Use: "chat", Short: "Converse; what would act is shown and asks first", Args: none,
		Long: `Converse in a terminal. Answers are written as they come. A plan is shown whole, and then:

  y  confirm it        n  reject it        e  edit it ($EDITOR)        d  show it as JSON

A question with choices shows them numbered: a number answers with that choice.
Anything else is the next message. /quit or the end of the input ends the conversation; runs go on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				chat, err := f.openChat(ctx, c)
				if err != nil {
					return err
				}
				return a.converse(ctx, c, chat, prompt)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&a.global.noStream, "no-stream", false, "write texts when they are whole")
	cmd.Flags().StringVarP(&prompt, "prompt", "p", "", "the first `message`; without a terminal the only one")
	return cmd
}

// converse sends messages until the input ends. Without a person at the terminal each line is a message, and nothing
// is asked.
func (a *app) converse(ctx context.Context, c *client.Client, chat, prompt string) error {
	a.say(a.text("cli.chat", "id", chat))
	if a.asks {
		a.say(a.text("cli.chat.leave"))
	}
	last := Success
	message, typed, err := prompt, "", error(nil)
	var shown plan.Digest             // of the plan that was printed last
	var options []conversation.Option // of the question that the next message answers
	for first := true; ; first = false {
		if !first && prompt != "" && !a.asks {
			return exit(last)
		}
		switch {
		case typed != "":
			message, typed = typed, ""
		case !first || prompt == "":
			message, err = a.nextLine(ctx)
		}
		switch {
		case errors.Is(err, io.EOF):
			return exit(last)
		case err != nil:
			return err
		}
		switch strings.TrimSpace(message) {
		case "":
			continue
		case "/quit", "/salir":
			return exit(last)
		}
		got, err := a.stream(ctx, c, chat, conversation.Choose(options, message))
		if err != nil {
			if ctx.Err() != nil || !a.asks {
				return err
			}
			a.tell(ctx, err)
			continue
		}
		last, options = codeOfTurn(got), got.Message.Options
		switch {
		case got.Kind == turn.KindQueued && got.Run != nil:
			last = codeOf(a.followTold(ctx, c, got.Run.RunID))
		case waiting(got) != nil && a.asks && !got.Message.Asks: // what is typed now answers the question
			r := *waiting(got)
			if a.namePending(got); got.Pending != nil && r.Digest != shown {
				a.showPlan(r)
			}
			shown = r.Digest
			if last, typed, err = a.decideHere(ctx, c, r); err != nil {
				return err
			}
		default:
			a.tellWaiting(got)
		}
	}
}

// nextLine reads the next message, with a prompt when a person is there.
func (a *app) nextLine(ctx context.Context) (string, error) {
	if a.asks {
		fmt.Fprint(a.errOut, "> ")
	}
	line, err := a.readLine(ctx)
	if err != nil && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// decideHere asks what becomes of a plan that was shown. What is typed and decides nothing is returned.
func (a *app) decideHere(ctx context.Context, c *client.Client, r httpapi.Run) (code Code, typed string, err error) {
	for {
		answer, err := a.ask(ctx, a.text("cli.ask_plan"))
		if err != nil {
			return Waits, "", ignoreEOF(err)
		}
		switch strings.ToLower(answer) {
		case "y", "s", "yes", "sí", "si":
			err := a.confirm(ctx, c, r)
			if err == nil {
				err = a.followTold(ctx, c, r.RunID)
			}
			a.tell(ctx, err)
			return codeOf(err), "", ctx.Err()
		case "n", "no":
			_, err := act(ctx, c, r.RunID, "cancel", "", httpapi.CancelRequest{Digest: r.Digest})
			if err == nil {
				a.say(a.text("cli.rejected"))
			}
			a.tell(ctx, err)
			return codeOf(err), "", ctx.Err()
		case "e":
			edited, err := a.edit(ctx, c, r)
			if err != nil {
				a.tell(ctx, err)
				continue
			}
			r = edited
			a.showPlan(r)
		case "d":
			if err := a.printJSON(r); err != nil {
				return Waits, "", err
			}
		default:
			return Waits, answer, nil
		}
	}
}

// showPlan writes a plan to stderr, whole.
func (a *app) showPlan(r httpapi.Run) {
	w := a.writer(a.colour)
	w.Plan(r)
	_ = a.show(a.errOut, w)
}

func (a *app) chatsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "chats", Short: "List the chats, or search them; export one", Args: none}
	var words string
	var p page
	list := &cobra.Command{
		Use: "list", Short: "List the chats, the newest first; with --q search titles and messages", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				query := p.query()
				if words != "" {
					query.Set("q", words)
				}
				got, err := client.Get[httpapi.ChatList](ctx, c, "/api/chats", query)
				if err != nil {
					return err
				}
				defer a.tellNext(got.Cursor)
				var rows [][]string
				for _, ch := range got.Chats {
					rows = append(rows, []string{ch.ID, moment(ch.UpdatedAt), cut(ch.Title, 60), ch.LastRunStatus})
				}
				return a.list(got, []string{"cli.id", "cli.changed", "cli.title", "cli.status"}, rows)
			})
		},
	}
	p.register(list)
	list.Flags().StringVar(&words, "q", "", "`words` to search for")
	var format string
	export := &cobra.Command{
		Use: "export ID", Short: "Write a chat, or last, to stdout as Markdown, JSON or PDF", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				chat, err := chatOf(ctx, c, args[0])
				if err != nil {
					return err
				}
				raw, err := c.Raw(ctx, client.Call{
					Method: "GET", Path: client.Path("api", "chats", chat, "export"), Query: url.Values{"format": {format}},
				}, "*/*")
				if err != nil {
					return err
				}
				_, err = a.out.Write(raw)
				return err
			})
		},
	}
	export.Flags().StringVar(&format, "format", "md", "md, json or pdf")
	cmd.AddCommand(list, export)
	cmd.RunE = list.RunE
	return cmd
}

// typedDigits is the number of digits of a digest that a person types.
const typedDigits = 8

// short returns the digits that a person types.
func short(d plan.Digest) string { return string(d)[:min(len(d), typedDigits)] }

// isShown reports whether what a person typed is the beginning of the digest.
func isShown(digest plan.Digest, typed string) bool {
	typed = strings.ToLower(strings.TrimSpace(typed))
	return len(digest) == 64 && len(typed) >= typedDigits && strings.HasPrefix(string(digest), typed)
}
