package claim

import "testing"

// TestADenialMayFollowItsVerb: “I've made no changes” claims nothing. What goes on after another word is an act.
func TestADenialMayFollowItsVerb(t *testing.T) {
	for _, text := range []string{
		"I've made no changes.", "I have changed nothing.", "I've sent nothing.", "I booked nothing, because the room is taken.", "Neither booking was cancelled.", "I've sent you nothing.",
		"He borrado cero registros.", "No he borrado ninguno.", "He cancelado cero citas; no encontré coincidencias.", "I've cancelled none of them.", "I have paid nothing, since the service is down.",
		"I've charged nothing to your card.", "No se ha enviado nada.", "Neither of them has been cancelled.", "Ninguno ha sido borrado.", "I've deleted zero records.",
	} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
	for _, text := range []string{
		"I've cancelled it at no cost.", "I've booked the room, nothing else.", "He cancelado la cita sin ningún coste.", "I've cancelled it; nothing was charged.", "I've sent the email to No Reply.",
		"Your order has been cancelled with no fee.", "I've booked it, no deposit needed.", "He borrado todo y nada queda.",
	} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
}

// TestWhatWillBeIsNoPast: of a verb whose past is its base.
func TestWhatWillBeIsNoPast(t *testing.T) {
	for _, text := range []string{"I'll reset it for you. Which account is it?", "I'll set it as soon as you tell me the temperature.", "They'll put it there.", "We need to reset the router.", "I will reset it.", "You can put it anywhere.", "I'll also reset it."} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
	for _, text := range []string{"I've reset it.", "I reset your password.", "Your password has been reset.", "I've set it to 22."} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
}
