package consent

import (
	"slices"
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
)

// sort is the role of a phrase in a yes.
type sort int

const (
	none     sort = iota
	yes           // it agrees
	nod           // it acknowledges
	polite        // please, and words without meaning
	grateful      // it thanks
	praise        // it says that all is right
	goes          // it says to go on; «con» and a thing may follow
	leads         // it wants the next phrase
	confirms      // it confirms; a thing may follow
	acting        // an act, with its thing
)

// phrases returns the fixed phrases, in normal form: products of finite lists.
var phrases = sync.OnceValue(func() map[string]sort {
	out := map[string]sort{}
	add := func(s sort, parts ...[]string) {
		for _, text := range Products(parts...) {
			out[text] = s
		}
	}
	words := strings.Fields
	list := func(text string) []string { return strings.Split(text, ", ") }

	add(yes, list("yes, yeah, yep, yup, yess, yes indeed, yes i do, yes i would, sure, sure thing, of course, yes of course, absolutely, definitely, certainly, affirmative, by all means, "+
		"si, sip, sii, claro, claro que si, si claro, por supuesto, por supuesto que si, desde luego, afirmativo"))
	add(nod, list("ok, okay, okey, alright, all right, great, perfect, good, fine, excellent, cool, wonderful, fantastic, awesome, lovely, agreed, very good, "+
		"vale, perfecto, genial, bien, muy bien, excelente, estupendo, fantastico, listo, bueno, venga, de acuerdo, entendido"))
	add(polite, list("please, pls, kindly, por favor, porfa, porfavor, ah, oh, well, so, then, got it, understood, i see, i understand, that makes sense, makes sense, uh, um, hmm, eh, pues, entonces, ya veo, lo entiendo"))

	add(polite, list("for, for any, for some"), list("further assistance, further help, assistance, help, additional support"))
	add(polite, list("for me, on my behalf"))
	add(polite, list("that is, thats, that will be, thatll be, that would be, thatd be"), list("all, everything"), list(", for now, i need, i wanted, i want, i want to exchange, i want to return, i want to cancel, i want to change, im exchanging, im returning, im cancelling, im changing"))
	add(polite, list("im sure, i am sure, quite sure, asap, right away, right now, estoy seguro, estoy segura, cuanto antes, ahora mismo"))
	toDo := list(", i want, i need, i wanted, to exchange, to return, to cancel, to change, to modify, i want to exchange, i want to return, i want to cancel, i want to change, i want to modify, im exchanging, im returning, im cancelling, im changing")
	add(polite, list("that is, thats, its, it is"), list("the only item, the only one, the only thing, the only items, the only order, the only change"), toDo)
	add(polite, list("nothing else, nothing more"), list(", for now, to exchange, to return, to cancel, to change, to modify, to add, i need"))
	add(polite, list("es lo unico, eso es lo unico, es el unico, es la unica"), list(", que quiero, que necesito, por ahora"))
	add(polite, list("eso es todo, es todo, eso seria todo, seria todo, nada mas, no necesito nada mas"))
	add(polite, words("someone somebody"), list("who can, who could, who may, who might"), list("help, assist, be able to help, be able to assist"), list(", me, further, me further"))
	things := list("everything, it, that, this, all, all of it, all of that, that all, it all, the plan, this plan, the details, these details, all the details, all details, the information, all the information")
	add(praise, things, words("is are looks look sounds sound seems seem"), list("good, great, perfect, correct, right, fine, ok, okay, excellent, accurate, all right, wonderful, in order"), list(", to me, for me, with me"))
	add(praise, words("thats its"), list("good, great, perfect, correct, right, fine, ok, okay, excellent, accurate, all right, wonderful"), list(", to me, for me, with me"))
	add(praise, list("looks, sounds, all"), list("good, great, perfect, correct, right, fine"), list(", to me"))
	add(praise, words("im i"), list("fine with, happy with, ok with, okay with, good with, agree with, agree to"), words("that this it everything"))
	add(praise, list("i am"), list("fine with, happy with, ok with, okay with, good with"), words("that this it everything"))
	add(praise, list("i agree, im ready, i am ready, that works, that works for me, works for me, correct, exactly, thats it, that would be great, that would be perfect, that would be wonderful, that would be fine, that would be helpful, that would be good"))
	add(praise, list("todo, todo esto, esto, eso, el plan, todo lo demas"), list("esta, es, parece, me parece, se ve, suena, queda"), list("bien, correcto, perfecto, muy bien, estupendo, genial, en orden, ok"))
	add(praise, list("los datos, todos los datos, los detalles, todos los detalles"), list("estan, son, parecen"), list("bien, correctos, perfectos, en orden"))
	add(praise, list("todo, es, esta, esta todo, me parece"), list("bien, correcto, perfecto, muy bien, en orden, genial"))
	add(praise, list("correcto, exacto, asi es, eso es, estoy de acuerdo, de acuerdo con todo, todo ok"))

	ahead := words("proceed continue")
	add(goes, list(", you can, you may, you should, lets, let us"), slices.Concat(ahead, list("go ahead, move forward, move ahead, go forward, go on, carry on, do it, do so, do that, do this")))
	add(goes, list("go for it, make it so, make it happen, lets do it, lets do this, lets do that, please do, lets go, dale, hazlo, hazlo ya, hagalo, hagamoslo, adelante, sigue, siga, sigamos, sigue adelante, siga adelante, continua, continuar, continuemos, "+
		"procede, proceda, proceder, procedamos, seguir, seguir adelante, hacerlo, puedes proceder, puede proceder, puedes continuar, puedes seguir, puedes hacerlo, ir adelante"))
	add(leads, list("id like to, i would like to, i want to, id love to, i wish to, im ready to, i am ready to, im happy to, i am happy to, lets, let us, feel free to, you can, you may, id like you to, i would like you to, i want you to, would like to, want to, am ready to, "+
		"quiero, quisiera, me gustaria, deseo, quiero que, puedes, puede, podemos, vamos a, estoy listo para, estoy lista para"))
	add(confirms, list("i confirm, i do confirm, i can confirm, i hereby confirm, confirmed, confirming, im confirming, i am confirming, you have my confirmation, i approve, i accept, id like to confirm, i would like to confirm, i want to confirm, confirm it, confirm this, confirm the plan, run it, run the plan, execute it, execute the plan, "+
		"confirmo, lo confirmo, la confirmo, los confirmo, las confirmo, te lo confirmo, se lo confirmo, yo confirmo, confirmado, queda confirmado, tienes mi confirmacion, quiero confirmar, apruebo, acepto, "+itAccepted+", confirmalo, confirma el plan, ejecutalo, ejecuta el plan, lanza el plan"))
	add(grateful, list("thank you, thanks, many thanks, thanks a lot, thank you very much, thank you so much, i appreciate, i really appreciate, much appreciated, gracias, muchas gracias, mil gracias, te lo agradezco, se lo agradezco, merci"))
	return out
})

// Products returns every phrase with one word or phrase of each list.
func Products(parts ...[]string) []string {
	all := []string{""}
	for _, part := range parts {
		var next []string
		for _, before := range all {
			for _, after := range part {
				next = append(next, strings.TrimSpace(before+" "+after))
			}
		}
		all = next
	}
	return all
}

func setOfPhrases(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return setOf(strings.Split(list, ", ")) })
}

// spoken are the phrases by which who will do it says that.
var spoken = lazy.Words(`procedo continuo sigo avanzo procedemos continuamos seguimos avance avanzar`)

// itAccepted are acceptances of a thing that is not named.
const itAccepted = "lo apruebo, lo acepto, lo autorizo, la autorizo, i authorize it, i authorise it, i authorize this, i authorise this"

const longestPhrase = 8

// agrees reports whether phrases of a sort are in agreeing.
func (s sort) agrees() bool {
	return s == yes || s == goes || s == confirms || s == nod || s == praise
}

// phraseAt returns the longest phrase with which some words begin, and its length.
func phraseAt(words []string) (sort, int) {
	for n := min(longestPhrase, len(words)); n > 0; n-- {
		if s := phrases()[strings.Join(words[:n], " ")]; s != none {
			return s, n
		}
	}
	return none, 0
}

var (
	// thanked are the words that may follow thanks: «gracias por tu ayuda».
	thanked = lazy.Words(`for your the all of so very much a lot kind kindly quick great help helping assistance assisting support patience understanding explanation explaining clarification clarifying clearing confirming checking finding looking
		breakdown information info service time everything that this it those these them up out into with on me us again effort efforts details in advance
		por tu su la el toda todo tanta ayuda atencion paciencia tiempo informacion explicacion aclaracion ayudarme aclararlo aclararmelo explicarmelo gestion antemano de nuevo y`)

	// glue holds a thing together.
	glue = lazy.Words(`the a an my our your this that these those it its them me us you of for to from in into on with by at all both each every everything now using via eligible selected listed mentioned
		el la los las lo un una unos unas mi mis tu tus su sus este esta esto estos estas ese esa eso esos esas ello del de al a en con usando mediante para por desde te le ambos ambas todo toda todos todas ya ahora
		seleccionado seleccionada seleccionados seleccionadas mencionado mencionada mencionados mencionadas`)
	pointing   = lazy.Words(`it that this them these those everything eso esto ello esos esas estos estas todo me us`)
	several    = lazy.Words(`both all everything them these those each every ambos ambas todo toda todos todas estos estas esos esas los las`)
	whole      = lazy.Words(`both all everything each every ambos ambas todo toda todos todas`)
	pair       = lazy.Words(`both ambos ambas`)
	directions = lazy.Words(`to from into for a al desde para por`)
	// accepting are confirmations of anything, wishing are those that want to confirm, and seeing are no answers to a request.
	accepting   = setOfPhrases("i can confirm, i approve, i accept, apruebo, acepto, " + itAccepted)
	acceptingIt = setOfPhrases(itAccepted)
	canConfirm  = setOfPhrases("i can confirm")
	wishing     = setOfPhrases("id like to confirm, i would like to confirm, i want to confirm, quiero confirmar")
	seeing      = setOfPhrases("got it, understood, i see, i understand, that makes sense, makes sense, ya veo, lo entiendo")
	conjoining  = lazy.Words(`and y e`)
	towards     = lazy.Words(`with to con a`)
	simple      = lazy.Words(`yes yeah yep yup si sip`)

	// standing are nouns that stand for any plan.
	standing = lazy.Words(`request requests process processes procedure arrangement arrangements approach proposal operation operations action actions step steps transaction suggestion
		solicitud solicitudes peticion proceso procedimiento propuesta operacion operaciones accion acciones paso pasos tramite gestion gestiones planteamiento enfoque sugerencia`)
	plans   = lazy.Words(`plan plans planes`)
	details = lazy.Words(`details detail detalles datos`)
	items   = lazy.Words(`item items articulo articulos`)

	// agreeing are the phrases of which every yes that is on no list has one, in normal form, sorted. A nod or praise agrees with an
	// order behind it.
	agreeing = sync.OnceValue(func() (out []string) {
		for text, s := range phrases() {
			if s.agrees() {
				out = append(out, text)
			}
		}
		slices.Sort(out)
		return out
	})
)
