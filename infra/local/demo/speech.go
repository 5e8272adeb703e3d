package demo

import (
	"fmt"
	"strings"

	"piloto/internal/chats/intent"
)

// speech writes the model's answers. None of them may pose as a plan.
type speech struct{ en bool }

func (s speech) pick(es, en string) string {
	if s.en {
		return en
	}
	return es
}

const (
	askMarkES = "Me falta algo"
	askMarkEN = "Something is missing"
)

// ask asks for the missing values of the operation title, or of address; askedNames recognises the
// question in the history.
func (s speech) ask(title, address string, missing []string) string {
	names := strings.Join(missing, ", ")
	return withoutPlanWording(func(title string) string {
		if s.en {
			return fmt.Sprintf("%s for “%s”: %s. Which value should it have? You can write it plainly or as name=value.", askMarkEN, title, names)
		}
		return fmt.Sprintf("%s para «%s»: %s. ¿Qué valor pongo? Puedes escribirlo tal cual o como nombre=valor.", askMarkES, title, names)
	}, title, address)
}

// withoutPlanWording returns a sentence with the first name that does not make it read as a plan: a
// summary such as «Confirm the booking» would. It takes the last name unchecked.
func withoutPlanWording(say func(name string) string, names ...string) string {
	for _, name := range names {
		if text := say(name); !intent.Poses(text).Pending {
			return text
		}
	}
	return say(names[len(names)-1])
}

// askedNames returns the names in an earlier question of ask.
func askedNames(text string) ([]string, bool) {
	for _, mark := range []string{askMarkES, askMarkEN} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			_, rest, _ = strings.Cut(rest, ": ")
			names, _, _ := strings.Cut(rest, ". ")
			return strings.Split(names, ", "), true
		}
	}
	return nil, false
}

func (s speech) greet(ops []operation) string {
	return s.pick(
		"Hola. Soy el modelo de demostración de Piloto: sigo reglas fijas y no soy un modelo de lenguaje. ",
		"Hello. I am Piloto's demonstration model: I follow fixed rules and am not a language model. ") + s.abilities(ops)
}

func (s speech) unknown(ops []operation) string {
	return s.pick(
		"Soy el modelo de demostración: sigo reglas fijas y no he encontrado ninguna operación que encaje con ese mensaje. ",
		"I am the demonstration model: I follow fixed rules and found no operation that fits that message. ") + s.abilities(ops) + "\n\n" + s.pick(
		"Para hablar con un modelo de verdad, define OPENAI_API_KEY (y, si hace falta, OPENAI_BASE_URL y OPENAI_MODEL) y vuelve a arrancar Piloto.",
		"To talk to a real model, set OPENAI_API_KEY (and OPENAI_BASE_URL and OPENAI_MODEL where needed) and start Piloto again.")
}

// abilities lists up to eight operations.
func (s speech) abilities(ops []operation) string {
	if len(ops) == 0 {
		return s.pick("Ahora mismo no hay ningún servicio registrado que yo pueda usar.", "There is no registered service for me to use at the moment.")
	}
	var b strings.Builder
	b.WriteString(s.pick("Entiendo frases sencillas sobre los servicios registrados, por ejemplo «busca salas libres para 6 el martes» o «reserva una sala para 6 mañana a las 10». Operaciones disponibles:",
		"I understand simple sentences about the registered services, such as “find free rooms for 6 on Tuesday” or “book a room for 6 tomorrow at 10”. Available operations:"))
	for i, op := range ops {
		if i == 8 {
			fmt.Fprintf(&b, s.pick("\n- y %d más", "\n- and %d more"), len(ops)-i)
			break
		}
		b.WriteString("\n- " + withoutPlanWording(func(name string) string { return name }, fmt.Sprintf("%s (%s)", op.title(), op.address()), op.address()))
	}
	return b.String()
}

func (s speech) thanks() string { return s.pick("De nada.", "You're welcome.") }

func (s speech) nothingPending() string {
	return s.pick("No hay ningún plan pendiente. Dime qué necesitas.", "There is no pending plan. Tell me what you need.")
}

func (s speech) noTool(op operation) string {
	return withoutPlanWording(func(title string) string {
		return fmt.Sprintf(s.pick("Para «%s» haría falta una herramienta que no tengo en este mensaje.", "“%s” would need a tool that I do not have in this message."), title)
	}, op.title(), op.address())
}

// refusal reports why a call was refused, unless the reason itself would read as a plan.
func (s speech) refusal(reason string) string {
	reason = plainReason(reason)
	short := []rune(strings.Join(strings.Fields(reason), " "))
	text := s.pick("No he conseguido preparar esa petición: no fue aceptada. ", "I could not prepare that request: it was not accepted. ")
	if detail := text + string(short[:min(len(short), 240)]); !intent.Poses(detail).Pending {
		return detail
	}
	return text
}

func (s speech) draftReady() string {
	return s.pick("La propuesta está en su tarjeta.", "The proposal is on its card.")
}
