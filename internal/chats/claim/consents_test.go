package claim

import "testing"

// TestWhatTheWorldApprovesIsNotOurs: a button of a machine, a key of a card, and the approval of somebody else.
func TestWhatTheWorldApprovesIsNotOurs(t *testing.T) {
	for _, text := range []string{
		"Please press the red button on your parcel locker.", "Queda pendiente de aprobación por tu responsable.", "Tu solicitud está registrada y queda pendiente de aprobación.", "Your refund needs approval first; that usually takes a day.",
		"Type the code on your card and press OK.", "Click the link in the email and confirm.", "Tap the button on the door to open it.", "Pulsa el botón rojo.", "Pulsa el botón verde de la máquina y espera.",
		"Your leave request is pending approval.", "Say the word \"stop\" and the robot halts.", "The booking is on request: the hotel has to confirm it.", "La factura requiere aprobación de un gerente.",
	} {
		if r := Read(text); r.Asks || r.Poses() {
			t.Errorf("%q asks: %+v", text, r)
		}
	}
	for _, text := range []string{
		"Press the Confirm button to go on.", "Pulsa el botón Confirmar.", "Press Confirm.", "Pulsa Confirmar en la tarjeta.", "I need your approval first.", "I'm waiting for approval.", "Necesito tu aprobación.", "Queda pendiente de tu aprobación.",
		"The plan needs your approval.", "Espero tu visto bueno.", "Say yes and I'll cancel it.", "Reply OK to proceed.", "Awaiting your approval.", "Quedo a la espera de tu aprobación.", "Please confirm.", "Pulsa el botón para confirmar.", "Type yes to confirm.",
		"Nothing runs without your approval.", "It needs your approval before I can do it.", "Haz clic en el botón de confirmar.", "Click the button to confirm.", "El plan está pendiente de aprobación.", "The cancellation is waiting for your approval.",
	} {
		if !Read(text).Asks {
			t.Errorf("%q asks for nothing", text)
		}
	}
}
