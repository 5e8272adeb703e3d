package intent

// offers ask, of a question, whether to act.
var offers = compile(`
would|do you like|want the|it|them|that|this|these|your|my ..3 {did}
quieres|quiere|queres|quereis|quieren|deseas|desea|desean|prefieres|prefiere|preferis|gustaria|necesitas|necesita|quisieras|quisiera que {c}* {ad}* {c}* {S}
parece|molesta|importa|viene ..2 que|si {c}* {S}
importa|molesta|parece|bien si {c}* {ad}* {c}* {P}
quieres|quiere|queres|quereis|quieren|deseas|desea|desean|quisieras|quisiera|gustaria {c}* ir|seguir|continuar {c}* adelante|con
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
am|are i|we ..1 ok|okay|clear|cleared|free|good|set|authorized|allowed|ready|fine
give|allow me|your|us ..1 permission|consent|to|approval
you ..1 board|favor|favour ..1 with
work|works for|with you|everyone
does|would|will|do that|this|it|these work|suit|do
sound|sounds like a|the plan
any concerns|problem|problems|issue|issues|changes if|with|before
algun|alguna|hay ..1 inconveniente|problema|pega|reparo|objecion
te|le|les|os convence|encaja|cuadra|late|cierra|sirve|conviene|acomoda|suena
da|das|dais ..1 consentimiento|aprobacion|permiso
lo|la ves|ve|veis bien|ok
cool|ok|okay|fine|good|alright with|by you
do i|we {ad}* {A}
do i|we go on|ahead|forward
^ still want this|it|that|them|these ..5 $
^ want this|it|that|them|these ..5 $
happy|okay|ok|fine|good|alright for me|us to {ad}* {V}
ok|okay|good|clear|cleared to go|proceed
before i|we {ad}* {V}
acuerdo|conforme|comodo|tranquilo ..1 con
everything|all look|looks|good|fine|ok|okay|correct ..1 $
any objections|objection
alguna objecion
punto de {I}
quieres|quiere|queres|deseas|desea|desean {A} a|al|la|el|los|las|este|esta|estos|estas|ese|esa|tu|su
me autorizas|autoriza|autorizais|permites|permite|dejas
das|da|dais luz|permiso|tu|el|su ..1 verde|visto|ok|permiso|aprobacion|visto|autorizacion
me das|da luz|permiso
seguro|segura|seguros|seguras de|que
estas|esta|estais|estan de acuerdo
puedo|debo|deberia|podemos|podria {c}* {ad}* {I}
para que {c}* {S}
si procedo|ejecuto|continuo|avanzo|sigo
would|do|did you like|want|prefer|need me|us to {ad}* {V}
you'd|you like|want|need me|us to {ad}* {V}
want|like me|us to {ad}* {V}
should|shall i|we go ..9 and {A}
should|shall|want|like i|me|us to? point|let it|them|the {any}
would|do you like|want|prefer|care to proceed|continue|execute|run|confirm|approve|initiate|commence|begin|start
would|do you like|want|prefer|care to go|move ahead|forward|on
shall|should i|we {ad}* {V}
can|may|could i|we {ad}* {A}
may|can i|we {ad}* proceed|continue
ok|okay|fine|alright|acceptable if|to|for ..2 {V}
mind if i|we {V}
ok|okay|happy|fine|comfortable|good with ..2 that|this|it|these
you|we sure you|about|that|we
you agree|confirm|approve|authorize|authorise|consent
have your permission|approval|go|okay|ok|consent|authorization|authorisation|blessing|confirmation
can|have|get your|the|a go|green ahead|light
can|could|will|would you ..1 confirm|approve|authorize|authorise $
can|could|will|would you ..1 confirm|approve|authorize|authorise ..1 you'd|you|this|to|so|these|i|the
does|do this|that|it|these|everything look|sound good|right|ok|okay|correct|fine
looks|sounds|look|sound good|right|ok|okay|fine $
shall|should we
ready|good to go|proceed|run|start|execute|begin|continue|launch
`)

// suggestions ask whether to act in the dress of an open question.
var suggestions = compile(`
how does|do that|this|it sound
how about i|we|if
why don't|not i|we {V}
what if i|we {ad}* {A}
que´|que te|le|les|os|tal parece? si|que {c}* {P}
que´|que te|le|les|os|tal parece? si|que {c}* {S}
`)

// agreements ask for a consent in the second person, or in the plural.
var agreements = compile(`
^ confirmas|confirmais|confirmamos|procedemos|seguimos|continuamos|avanzamos|ejecutamos|empezamos|arrancamos|autorizas|autoriza|apruebas|aprobas|aprueba|confirma|lanzamos|arrancamos
^ le damos
^ lo|la|los|las hacemos
^ vamos $
`)

// tags are the words of a question that is nothing but "agreed?".
var tags = setOf(`ok okay confirm confirmed confirmo proceed go ahead agreed deal sound sounds good shall we va vale dale adelante de acuerdo te parece
	bien le os cierra si´ si todo asi execute run it continue continuar y n yes no s confirmar seguir proceder listo hecho y we're all set seguro segura seguros conforme ready orden en estamos correcto correcta sirve queda all everything sure look looks right correct yet es approve approved apruebas aprobado`)

// begs ask for a consent, or tell how to give it, without a question.
var begs = compile(`
need|needs|require|requires|await|awaits|awaiting|waiting|wait|pending|with|upon|subject|give|have|get|requesting|request|for|on ..2 your ..1 confirmation|approval|permission|consent|authorization|authorisation|ok|okay|signoff
need|require|await|awaiting|waiting|pending|with|upon|give|have|get|on|for ..2 your|the|a|me go|green|thumbs ahead|light|up
espero|esperando|espera|aguardo|atento|atenta|pendiente|necesito|requiero|requiere|necesita|con|dame|deme|sujeto|tras|falta|solo|mediante|pido|solicito ..3 tu|su|vuestra|vuestro ..1 confirmacion|aprobacion|autorizacion|permiso|consentimiento|conformidad|ok|visto|luz|validacion
dame|deme|das|des|da|de´|tenga|tengo|den|necesito|espero ..2 luz|visto|ok verde|bueno $
dame|deme|das|des|necesito|tenga|espero|reciba ..2 luz|visto verde|bueno
a falta de tu|su {cited}
tu|su|your confirmacion|aprobacion|confirmation|approval|ok ..1 es|is|basta|suffices
need|require|want|get|awaiting ..1 your sign off
plan ..1 esta|queda|is|still pendiente|pending|awaiting|waiting
dime|digame|decime|avisame|indicame si ..1 es|son|esta|estan ..1 correcto|correctos|correcta|correctas|bien|todo
^ just let me know $
^ just say so|it|yes $
podria|puedo|podemos {I} ..4 ahora|ya mismo
^ awaiting|pending|pendiente|pendientes|esperando|aguardando|espero|aguardo|waiting for|de|on|la|una? la|your|user? confirmation|approval|confirmacion|aprobacion|autorizacion
say|speak|give the word
que {c}* confirmes|apruebes|autorices|valides|confirme|apruebe|autorice|digas|diga|des ..1 $
que {c}* confirmes|apruebes|autorices|valides|confirme|apruebe|autorice para|antes|y
necesito|necesitaria|quisiera|quiero|espero|requiero|falta|espera ..1 que {c}* confirmaras|confirmara|aprobaras|autorizaras|confirmes|apruebes|autorices|valides|confirme|apruebe|autorice
confirmes|autorices|apruebes para|antes
let|tell me know? ..1 if|when|whether|once you'd|you ..1 want|like|need|wish|prefer me|us to {ad}* {V}
let|tell me know? ..1 if|when|whether you'd|you ..1 want|like|need|wish|prefer me|us to $
let|tell me know? ..1 if|when|whether i|we should|can|may|could|shall {ad}* {V}
let|tell me know? ..1 if|when|whether you'd|you ..1 want|like|wish|ready|ok|okay to|with|for ..1 proceed|continue|go|execute|run|move|confirm|start|approve|me|this|that
let me know if|when|once? to {A}
avisame|avisa|avise|aviseme|dime|decime|digame|indicame|indiqueme|comentame|avisas|dices ..1 si|cuando|y quieres|queres|quiere|deseas|desea|quieras|desees que {c}* {ad}* {S}
avisame|avisa|avise|aviseme|dime|decime|digame|indicame|indiqueme|comentame|confirmame|avisas ..1 si|cuando {c}* {P}
avisame|avisa|dime|decime|digame y {c}* {P}
avisame|avise|aviseme|dime|decime|digame|indicame si|cuando debo|puedo|deberia {I}
cuando quieras|quiera|desees que {c}* {S}
ready|set|prepared to {ad}* {advance}
ready|set|prepared|queued to|for be? {ad}* run|execute|deploy|send|go|launch|start|executed|deployed|sent|submitted|execution|deployment
review|check|approve|revisa|revise|revisalo|reviselo ..5 before i|we
revisa|revise|revisalo|reviselo|revisa´ ..5 antes de que {c}* {S}
necesito|requiero|requiere|need|require|requires ..1 autorizacion|aprobacion|confirmacion|permiso|authorisation|authorization|approval|permission ..1 para|to|before|antes
can|could|will|would you ..1 confirm that's|that|it's ..1 what|is
das|da|dan|des|de´ ..1 tu|su|vuestra|el conformidad|aprobacion|consentimiento|permiso|autorizacion|visto|ok|si´
cuanto|cuando|apenas ..1 des|de´|den|digas|diga el|tu|su|un|que ok|visto|si´|adelante
await|awaiting|wait|waiting ..1 for|on ..1 approval|confirmation|go-ahead|authorisation|authorization
falta|espero|necesito|solo|queda|aguardo ..2 tu|su si´|ok|firma|palabra
need|await|awaiting|missing|want|just|only your yes|ok|nod|word|signal|go-ahead|thumbs
just|only|solo|solamente|nomas need|have|falta|tienes|queda|necesitas ..2 confirm|confirmar|confirmarlo|confirmarla|approve|aprobar|aprobarlo|autorizarlo
a su|tu|vuestra aprobacion|consideracion|autorizacion|conformidad
let|tell me know? ..1 if|whether|when i'm|we're ..1 good|ok|okay|clear|free|set to|for
simple|solo|un yes|si´|ok|sí ..1 basta|suffices|will|is|es
i|we|i'll|i'd|we'll|will|must need|like|want|require|ask you to ..1 confirm|approve|authorize|authorise|okay|ok|agree
on|at your signal|command|word|mark|order|say
a tu|su senal|orden
cuanto|apenas|cuando|vez ..3 confirmes|apruebes|autorices|valides
usted ..2 autorice|confirme|apruebe|valide
cuento|tengo|tenemos ..1 tu|su|vuestra ..1 confirmacion|aprobacion|autorizacion|permiso|ok|visto|luz
hay luz|via verde|libre
give|need|get|gimme ..1 a|the|one yes|nod|thumbs|signal|shout
dame|deme|necesito|espero|dar ..1 un|el si´|ok
^ say when
usted|tu|vos|ustedes dira´|diras|dirá|mandas|decides|decidis|deciden $
i'm|we're|everything's ..1 set|ready|prepared to {V}
i|we|everything am|are|is ..1 set|ready|prepared to {V}
^ reply|respond|type|answer|write|responde|responda|responde´|escribe|escriba|escribi´|contesta|conteste|contesta´ ..4 to|para {advance}
^ reply|respond|type|answer|write|responde|responda|responde´|escribe|escriba|escribi´|contesta|conteste|contesta´ ..4 if|si you|deseas|desea|quieres|quiere|queres
await|awaiting|waiting|aguardo|espero|quedo ..4 your|tu|tus|su|sus decision|instructions|instrucciones|response|respuesta|indicacion|decision|reply ..2 to|para|before|antes
sirvase|favor de? confirmar|autorizar|aprobar
my next step|move|action ..1 is to {V}
mi siguiente|proximo paso ..1 es|sera´ {I}
ready when you are
listo|lista|listos|listas|preparado|preparada para {c}* {ad}* {I}
listo|lista|preparado|preparada para su|la ejecucion
puedo|podria|podemos ..1 {I} ..9 si quieres|queres|lo|quiere|deseas|desea|gustas|te|le|prefieres|prefiere|preferis|os|les|necesitas|asi
or if|whether i|we should|may|can {ad}* {V}
i can|could|may|might {ad}* {A} ..9 if you'd|you|you're|that|this|it|that's
you want|like me|us to {ad}* {A}
necesito|espero|need|await|awaiting ..1 tu|your|un|a {cited}
`)

// pointers show where to confirm.
var pointers = compile(`
button|buttons ..1 below|underneath
pulsa|pulse|pulses|pulsar|pulsas|pulsa´|presiona|presione|presiones|presionar|presiona´|toca|toque|dale|pincha|clic|click|press|tap|hit ..4 {agree}
pulsa|pulse|pulses|presiona|presione|toca|toque|clic|click|press|tap ..1 aqui|here
press|click|hit|tap|push|use ..1 button below|underneath|here
boton|botones ..4 abajo|debajo
`)

// planHere shows the plan that is to be confirmed.
var planHere = compile(`
confirm|confirmar|confirma|confirmes|approve|aprobar ..2 plan ..4 below|abajo|debajo
confirm|confirmar|confirma ..4 a|to este|this mensaje|message
`)

// conditions lead to an act of the assistant once the person agrees.
var conditions = compile(`
if|once|when|after|until|unless|before|as|with ..3 you|you're|you've ..2 confirm|confirmed|approve|approved|agree|authorize|say|give|reply|happy|okay|ok|good|ready|respond
if that|this|everything|it|all|these looks|sounds|is|look|sound ..1 good|ok|okay|right|correct|fine|acceptable
if you're|you are? happy|okay|ok|fine|good|ready
si|cuando|cuanto|vez|despues|apenas ..3 confirmas|confirmes|confirme|confirma|apruebas|apruebes|apruebe|autorizas|autorices|autorice|acuerdo|parece|digas|diga|des|das|de´|conforme|aceptas|aceptes
si ..2 bien|correcto|acuerdo
si te|le|os|les encaja|cuadra|sirve|convence|gusta|va|conviene|vale
si|if|cuando|when ..1 pulsas|pulsa|presionas|presiona|clicas|press|click|tap|hit
with|con your|tu|su permission|permiso|approval|consent
let me know ..2 and
just|solo say|dime|decime|digame|avisame|tell ..3 and|y
`)

// replies tell which word to say: «responde confirmo», "reply yes".
var replies = compile(`
responde|responda|escribe|escriba|contesta|reply|respond|answer|type|enter {toward}* {order}
^ responde|respondeme|responda|respondeme|responde´|contesta|conteste|contestame|contesta´|escribe|escriba|escribime|escribi´|di|dime|diga|decime|digame|deci´|pulsa|pulse|pulsa´|toca|toque|toca´|dale|dele|pincha|pinche|clica|clicka|presiona|presione|presiona´|teclea|envia|envie|manda|pon|tipea|respondan {toward}* {yes}
reply|respond|answer|type|say|write|clic|clics|send|press|click|hit|tap|push|enter|text {toward}* {yes}
para|to {any} ..3 responde|responda|escribe|escriba|pulsa|contesta|type|reply|say|enter {toward}* {yes}
confirm|confirma|confirme|confirmame {toward}* {cited}
^ responde|responda|contesta|reply|respond|answer|type|escribe|escriba {toward}* do|hazlo ..1 it
`)

// orders are consents asked for in the imperative.
var orders = compile(`
please|favor ..6 and|y confirm|approve|confirma|confirme|aprueba|apruebe
^ confirm|approve|authorize|authorise|confirma|confirmame|confirmalo|confirmala|confirma´|confirme|confirmeme|confirmelo|confirmemelo|autoriza|autorizame|autorice|autoriza´|aprueba|apruebalo|apruebe|aproba´|valida|confirmad|confirmen
confirmarme|confirmar|confirm|approve|authorize para|so|before
y|and confirma|confirme|confirma´|confirmame|confirm para|so|to|if|si
`)

// dataNouns are what a person confirms by telling it, not by agreeing.
var dataNouns = setOf(`pin huella fingerprint contrasena fecha hora horario nombre apellido correo email mail numero telefono direccion asistencia identidad cantidad dia date time name address phone number identity
	attendance quantity size password version code codigo cuenta presupuesto talla ciudad pais dni room's cual cuales which what who when where availability disponibilidad cuanto cuantos
	asistentes personas people attendees identificador id spelling duration duracion budget city receipt recibo recepcion`)
