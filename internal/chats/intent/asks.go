package intent

import "piloto/internal/ground/lazy"

// offers match questions whether to act.
var offers = compile(`
would|do you like|want a|an|another|the|it|them|that|this|these|your|my ..3 {Ed}
quieres|quiere|queres|quereis|quieren|deseas|desea|desean|prefieres|prefiere|preferis|gustaria|necesitas|necesita|quisieras|quisiera que {c}* {ad}* {c}* {S}
parece|molesta|importa|viene ..2 que|si {c}* {S}
importa|molesta|parece|bien si {c}* {ad}* {c}* {P}
quieres|quiere|queres|quereis|quieren|deseas|desea|desean|quisieras|quisiera|gustaria {c}* {advance}
quieres|quiere|queres|quereis|quieren|deseas|desea|desean|quisieras|quisiera|gustaria {it}
bien|correcto|listo|orden|claro para {c}* {I}
should|shall i|we $
do|would you wish to {ad}* {advance}
would|do you ..1 like|want|wish to {A} this|the|it|these|that|them|all|your
okay|ok|fine|happy|good|comfortable with me|us {G}
permission|permiso to|para {V}
te|le|os|les parece bien|correcto|correcta|adecuado|ok|oportuno
me|us to $
i|we {N}* {A}
i|we ..1 go|move ahead|forward|on
que {c}* {ad}* {c}* {S1}
si {c}* {ad}* {c}* {P}
are you ..1 sure|certain $
is|would|was that|this|it be? all? ok|okay|fine|good|alright|right|correct $
would you rather|prefer i|we {any}
would|is now|this|it be? a? good|right time|moment to
es ..1 buen momento para {I}
me das|da|dejas|deja ..1 chance|oportunidad
antes de {E}
would it be all? ok|okay|fine|good|alright|right to|if
want|like the|it|them|that|this|these|your|my ..3 told|notified|informed|warned
should he|she|they|it|the|this|that ..3 go up|out|in
should he|she|they|it|the|this|that ..3 get|go|have ..1 access|rights|through|ahead|out|live
me|us to take|sort|handle|deal|get
me|us to offer|ask|tell|remind|let them|him|her|everyone|both
would|do you want|like {N} {Ed}
^ want|like a|the|it|them|that|this|these|your|my ..3 {Ed}
va|sale que {c}* {P}
shall|should i|we take|have|get|keep|leave|give it|them|that|this|him|her|the|one|both
shall|should i|we offer|ask|tell|remind|let them|him|her|everyone|both
shall|should i|we ask|tell|remind the? {name}
work|works for|with you|everyone
does|would|will|do that|this|it|these work|suit|do
any concerns|problem|problems|issue|issues|changes if|with|before
algun|alguna|hay ..1 inconveniente|problema|pega|reparo|objecion
te|le|les|os convence|encaja|cuadra|late|cierra|sirve|conviene|acomoda|suena
cool|ok|okay|fine|good|alright with|by you
^ still want this|it|that|them|these ..5 $
^ want this|it|that|them|these ..5 $
happy|okay|ok|fine|good|alright for me|us to {ad}* {V}
ok|okay|good|clear|cleared to go|proceed
before i|we {ad}* {V}
acuerdo|conforme|comodo|tranquilo ..1 con
any objections|objection
quieres|quiere|queres|deseas|desea|desean {A} a|al|la|el|los|las|este|esta|estos|estas|ese|esa|tu|su
me autorizas|autoriza|autorizais|permites|permite|dejas
estas|esta|estais|estan de acuerdo
puedo|debo|deberia|podemos|podria {c}* {ad}* {I}
like|want|prefer|need me|us to {ad}* {V}
should|shall i|we go ..9 and {A}
should|shall|want|like i|me|us to? point|let it|them|the {any}
would|do you like|want|prefer|care to proceed|continue|execute|run|confirm|approve|initiate|commence|begin|start
would|do you ..1 like|want|prefer|care to go|move ahead|forward|on
shall|should i|we {ad}* {V}
ok|okay|fine|alright|acceptable if|to|for ..2 {V}
mind if i|we {V}
ok|okay|happy|fine|comfortable|good with ..2 that|this|it|these
you|we sure you|about|that|we
you agree|confirm|approve|authorize|authorise|consent
have your permission|approval|go|okay|ok|consent|authorization|authorisation|blessing|confirmation
can|could|will|would you ..1 confirm|approve|authorize|authorise ..1 you'd|you|this|to|so|these|i|the
does|do this|that|it|these|everything look|sound good|right|ok|okay|correct|fine
looks|sounds|look|sound good|right|ok|okay|fine $
`)

// suggestions match open questions that ask whether to act.
var suggestions = compile(`
how about i|we|if
why don't|not i|we {V}
what if i|we {ad}* {A}
que´|que te|le|les|os|tal parece? si|que {c}* {P}
que´|que te|le|les|os|tal parece? si|que {c}* {S}
`)

// opinions match questions about the text before them.
var opinions = compile(`
que´ te|le|les|os parece $
^ how does|do that|this|it sound|look
`)

// checks introduce the data to be confirmed: "To confirm: Thursday, eight people?"
var checks = compile(`
^ just|solo|nada? mas? to|para confirm|confirmar|check|verificar|asegurarme|asegurar
^ to|para confirm|confirmar|double|asegurarme|asegurar
`)

// agreements match requests for consent in the second person, or in the plural.
var agreements = compile(`
^ confirmas|confirmais|confirmamos|procedemos|seguimos|continuamos|avanzamos|ejecutamos|empezamos|arrancamos|autorizas|autoriza|apruebas|aprobas|aprueba|confirma|lanzamos|arrancamos
^ lo|la|los|las quieres|queres|quiere $
^ vamos $
`)

// tags lists the words of a question that only asks "agreed?".
var tags = lazy.Words(`works work sale jala arre ok okay green light agree confirm confirmed confirmo proceed go ahead agreed deal sound sounds good shall we va vale dale adelante de acuerdo te parece
	bien le os cierra si´ si todo asi execute run it continue continuar y n yes no s confirmar seguir proceder listo hecho y we're all set seguro segura seguros conforme ready orden en estamos correcto correcta sirve queda all everything sure look looks right correct yet es approve approved apruebas aprobado`)

// begs match a request for consent, or an explanation how to give it, without a question.
var begs = compile(`
pendiente|pendientes|atento|atenta|espera|retenido|retenida|falta|hasta ..2 que {c}* {agrees}
like|need|needs|require|requires|await|awaits|awaiting|waiting|wait|pending|with|upon|subject|give|have|get|requesting|request|for|on ..2 your ..1 confirmation|approval|permission|consent|authorization|authorisation|ok|okay|signoff
need|require|await|awaiting|waiting|pending|with|upon|give|have|get|on|for ..2 your|the|a|me go|green|thumbs ahead|light|up
espero|esperando|espera|aguardo|aguardando|atento|atenta|pendiente|pendientes|retenido|retenida|necesito|requiero|requiere|necesita|con|dame|deme|sujeto|tras|falta|hasta|queda|solo|mediante|pido|solicito|tener|listo|lista|listos|listas ..3 tu|su|vuestra|vuestro ..1 {assent}
dame|deme|das|des|necesito|tenga|espero|reciba ..2 luz|visto verde|bueno
a falta de tu|su {cited}
tu|su|your confirmacion|aprobacion|confirmation|approval|ok es|is|basta|suffices
need|require|want|get|awaiting ..1 your sign off
plan ..1 esta|queda|is|still pendiente|pending|awaiting|waiting
dime|digame|decime|avisame|indicame si ..1 es|son|esta|estan ..1 correcto|correctos|correcta|correctas|bien|todo
^ just let me know $
^ just tell me $
^ just say so|it|yes $
podria|puedo|podemos {I} ..4 ahora|ya mismo
^ awaiting|pending|pendiente|pendientes|esperando|aguardando|espero|aguardo|waiting for|de|on|la|una? la|your|user? confirmation|approval|confirmacion|aprobacion|autorizacion
say|speak|give the word
que {c}* confirmes|apruebes|autorices|valides|confirme|apruebe|autorice|digas|diga|des ..1 $
necesito|necesitaria|quisiera|quiero|espero|requiero|falta|espera ..1 que {c}* confirmaras|confirmara|aprobaras|autorizaras|confirmes|apruebes|autorices|valides|confirme|apruebe|autorice
let|tell me know? ..1 if|when|whether|once you'd|you ..1 want|like|need|wish|prefer me|us to {ad}* {V}
let|tell me know? ..1 if|when|whether you'd|you ..1 want|like|need|wish|prefer me|us to $
let|tell me know? ..1 if|when|whether i|we should|can|may|could|shall {ad}* {V}
let me know if|when|once? to {A}
y me dices|avisas|dice|avisa|decis $
i|we can|could do|handle|arrange|sort that|this|it ..1 for|from|now|right|straight|here
let|tell me know? ..1 if|whether that|this|it|everything|all works|suits|looks|sounds|is
let|tell me know? ..1 if|whether that's|it's|this'll
dime|digame|decime|avisame si ..1 es lo que
avisame|avisa|avise|aviseme|dime|decime|digame|indicame|indiqueme|comentame|avisas|dices ..1 si|cuando|y quieres|queres|quiere|deseas|desea|quieras|desees que {c}* {ad}* {S}
avisame|avisa|avise|aviseme|dime|decime|digame|indicame|indiqueme|comentame|confirmame|avisas ..1 si|cuando {c}* {P}
avisame|avisa|dime|decime|digame y {c}* {P}
avisame|avise|aviseme|dime|decime|digame|indicame si|cuando debo|puedo|deberia {I}
cuando quieras|quiera|desees que {c}* {S}
review|check|approve|revisa|revise|revisalo|reviselo ..5 before i|we
necesito|requiero|requiere|need|require|requires ..1 autorizacion|aprobacion|confirmacion|permiso|authorisation|authorization|approval|permission ..1 para|to|before|antes
can|could|will|would you ..1 confirm that's|that|it's ..1 what|is
das|da|dan|des|de´ ..1 tu|su|vuestra|el conformidad|aprobacion|consentimiento|permiso|autorizacion|visto|ok|si´
await|awaiting|wait|waiting ..1 for|on ..1 approval|confirmation|go-ahead|authorisation|authorization
need|await|awaiting|missing|want|just|only your yes|ok|nod|word|signal|go-ahead|thumbs
just|only|solo|solamente|nomas need|have|falta|tienes|queda|necesitas ..2 confirm|confirmar|confirmarlo|confirmarla|approve|aprobar|aprobarlo|autorizarlo
a su|tu|vuestra aprobacion|consideracion|autorizacion|conformidad
let|tell me know? ..1 if|whether|when i'm|we're ..1 good|ok|okay|clear|free|set to|for
i|we|i'll|i'd|we'll|will|must need|like|want|require|ask you to ..1 confirm|approve|authorize|authorise|okay|ok|agree
on|at your signal|command|word|mark|order|say
a tu|su senal|orden
cuanto|apenas|cuando|vez ..3 confirmes|apruebes|autorices|valides
usted ..2 autorice|confirme|apruebe|valide
give|need|get|gimme ..1 a|the|one ..1 yes|nod|thumbs|signal|shout
dame|deme|necesito|espero|dar ..1 un|el si´|ok
^ say when
usted|tu|vos|ustedes me? dices|decis|dice|avisas|dira´|diras|dirá|mandas|decides|decidis|deciden $
i'm|we're|everything's ..1 set|ready|prepared to {V}
i|we|everything am|are|is ..1 set|ready|prepared to {V}
^ reply|respond|type|answer|write|responde|responda|responde´|escribe|escriba|escribi´|contesta|conteste|contesta´ ..4 to|para {advance}
^ reply|respond|type|answer|write|responde|responda|responde´|escribe|escriba|escribi´|contesta|conteste|contesta´ ..4 if|si you|deseas|desea|quieres|quiere|queres
my next step|move|action ..1 is to {V}
mi siguiente|proximo paso ..1 es|sera´ {I}
ready when you are
^ ready|set|prepared to {ad}* {V}
ready to ..7 when|whenever|once you|you're|you've
^ whenever|when you're ready $
^ before i|we {ad}* {V} ..3 please|check|review|confirm
listo|lista|listos|listas|preparado|preparada para {c}* {ad}* {I}
puedo|podria|podemos ..1 {I} ..9 si quieres|queres|lo|quiere|deseas|desea|gustas|te|le|prefieres|prefiere|preferis|os|les|necesitas|asi
i can|could|may|might {ad}* {V} ..9 if you'd|you|you're|that|this|it|that's
necesito|espero|need|await|awaiting ..1 tu|your|un|a {cited}
`)

// pointers match an instruction where to confirm.
var pointers = compile(`
button|buttons ..1 below|underneath
pulsa|pulse|pulses|pulsar|pulsas|pulsa´|oprime|oprima|dele|presiona|presione|presiones|presionar|presiona´|toca|toque|dale|pincha|clic|click|press|tap|hit ..4 {agree}
pulsa|pulse|pulses|presiona|presione|toca|toque|clic|click|press|tap ..1 aqui|here
press|click|hit|tap|push|use ..1 button below|underneath|here
boton|botones ..4 abajo|debajo
`)

// planHere matches the introduction of the plan to be confirmed.
var planHere = compile(`
confirm|confirmar|confirma|confirmes|approve|aprobar ..2 plan ..4 below|abajo|debajo
confirm|confirmar|confirma ..4 a|to este|this mensaje|message
`)

// conditions introduce an act of the assistant that waits for the user's consent.
var conditions = compile(`
if|once|when|after|until|unless|before|as|with ..3 you|you're|you've ..2 read|seen|checked|reviewed|confirm|confirmed|approve|approved|agree|authorize|say|give|reply|happy|okay|ok|good|ready|respond
if that|this|everything|it|all|these looks|sounds|is|look|sound ..1 good|ok|okay|right|correct|fine|acceptable
if that's|it's ..1 ok|okay|fine|good|right|alright|correct
if you're|you are? happy|okay|ok|fine|good|ready
si|cuando|cuanto|vez|despues|apenas ..3 leas|veas|revises|confirmas|confirmes|confirme|confirma|apruebas|apruebes|apruebe|autorizas|autorices|autorice|acuerdo|parece|digas|diga|des|das|de´|conforme|aceptas|aceptes
si ..4 bien|correcto|correctos|correctas|acuerdo
si te|le|os|les encaja|cuadra|sirve|convence|gusta|va|conviene|vale
si|if|cuando|when ..1 pulsas|pulsa|presionas|presiona|clicas|press|click|tap|hit
with|con your|tu|su permission|permiso|approval|consent
^ dime|decime|digame|avisame|aviseme y
just|solo say|dime|decime|digame|avisame|tell ..3 and|y
`)

// replies match an instruction which word to answer: «responde confirmo», "reply yes".
var replies = compile(`
responde|responda|escribe|escriba|contesta|reply|respond|answer|type|enter {toward}* {order}
^ responde|respondeme|responda|respondeme|responde´|contesta|conteste|contestame|contesta´|escribe|escriba|escribime|escribi´|di|dime|diga|decime|digame|deci´|pulsa|pulse|pulsa´|toca|toque|toca´|dale|dele|pincha|pinche|clica|clicka|presiona|presione|presiona´|teclea|envia|envie|manda|pon|tipea|respondan {toward}* {yes}
reply|respond|answer|type|say|write|clic|clics|send|press|click|hit|tap|push|enter|text {toward}* {yes}
para|to {any} ..3 responde|responda|escribe|escriba|pulsa|contesta|type|reply|say|enter {toward}* {yes}
`)

// orders match an imperative that asks for consent.
var orders = compile(`
revisa|revise|revisalo|reviselo|revisala|check|review ..4 y|and acepta|acepte|accept|aprueba|confirma|approve|confirm $
please|favor ..6 and|y confirm|approve|confirma|confirme|aprueba|apruebe
^ confirm|approve|authorize|authorise|confirma|confirmame|confirmalo|confirmala|confirma´|confirme|confirmeme|confirmelo|confirmemelo|autoriza|autorizame|autorice|autoriza´|aprueba|apruebalo|apruebe|aproba´|valida|confirmad|confirmen
y confirmame|confirmeme|confirmanos $
y|and confirma|confirme|confirma´|confirmame|confirm para|so|to|if|si
`)

// dataNouns lists data that a person confirms by giving it, not by agreeing.
var dataNouns = lazy.Words(`pin huella fingerprint contrasena fecha hora horario nombre apellido correo email mail numero telefono direccion asistencia identidad cantidad dia date time name address phone number identity
	attendance quantity size password version code codigo cuenta presupuesto talla ciudad pais dni room's cual cuales which what who when where availability disponibilidad cuanto cuantos
	asistentes personas people attendees identificador id spelling duration duracion budget city receipt recibo recepcion`)
