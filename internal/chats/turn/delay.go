package turn

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/changes"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/models/eligibility"
)

// endEarly implements strategy. It returns an earlier answer again. It ends the turn when the
// chat is answered only on request.
func (d *dialog) endEarly(ctx context.Context, message conversation.Message) (over bool, reply Reply, err error) {
	s, req, chat, automation := d.service, d.loop.req, d.loop.chat, d.loop.automation
	if d.loop.past.Previous.ID != "" {
		reply, err = s.thread().previousReply(ctx, req, d.loop.chat, d.loop.past.Previous)
		return true, reply, err
	}
	if req.asked {
		return false, Reply{}, nil
	}
	if automation.Mode == eligibility.Manual {
		reply, err = s.thread().text(ctx, req, chat, conversation.KindNotice, locale.Say("turn.manual"), answerMeta{})
		return true, reply, err
	}
	delay := time.Duration(automation.DelayMS) * time.Millisecond
	if automation.Mode != eligibility.Automatic || delay <= 0 {
		return false, Reply{}, nil
	}
	switch d.held, err = s.takeAnswer(ctx, req, chat.ID, message.ID); {
	case errors.Is(err, conversation.ErrAnswering): // another request for the answer came meanwhile
		return true, s.thread().transientNotice(req, chat, "turn.being_answered"), nil
	case err != nil:
		return true, Reply{}, err
	}
	if err := retry.Wait(ctx, min(delay, eligibility.MaxDelay)); err != nil {
		return true, Reply{}, err
	}
	return d.endDelayed(ctx, message)
}

// endDelayed is endEarly after the delay. The settings may have changed meanwhile: the chat and the settings are read
// again, and the turn is judged by them. It ends every turn but that of the last message that arrived within the delay.
func (d *dialog) endDelayed(ctx context.Context, message conversation.Message) (over bool, reply Reply, err error) {
	s, req, account := d.service, d.loop.req, d.loop.req.Principal.Account
	if d.loop.chat, err = s.Chats.Chat(ctx, account, d.loop.chat.ID); err != nil {
		return true, Reply{}, err
	}
	d.loop.agent, d.loop.files = actor{}, changes.Work{}
	var stopAt time.Time
	var loads errgroup.Group
	loads.Go(func() error { return s.load(ctx, d, message) })
	loads.Go(func() (err error) { stopAt, err = s.Answers.StopAsked(ctx, d.loop.chat.Key(account)); return })
	err = loads.Wait()
	notice := ""
	switch {
	case err != nil:
		return true, Reply{}, err
	case d.loop.automation.Mode == eligibility.Manual:
		notice = "turn.manual"
	case !stopAt.Before(d.loop.began.Truncate(time.Millisecond)):
		notice = "turn.stopped"
	case d.loop.past.Later: // the other message's turn answers both
		return true, s.thread().transientNotice(req, d.loop.chat, "turn.joined"), nil
	default:
		return false, Reply{}, nil
	}
	reply, err = s.thread().text(ctx, req, d.loop.chat, conversation.KindNotice, locale.Say(notice), answerMeta{})
	return true, reply, err
}
