"""Eight more books, questions about them, and what a model may and may not answer.

A claim here may lean on what stands around its sentence: the headings over it, the line that leads into a
list, the sentence just before, the words of the question. `TRUE` are claims that a careful reader of the
page would accept. `UNTRUE` are lies of ten kinds, many of them made of that same context. All but the last
two kinds were written down before the rules were taught to look at it; those two were made against the rules.
"""

from __future__ import annotations

from collections.abc import Mapping

SHELF: Mapping[tuple[str, ...], str] = {
    ("Postmaster", "Installing", "The relay"): (
        "The relay needs a machine with 512 MB of memory. It listens on port 2525 and hands every "
        "letter to the "
        "sorter. The sorter may refuse a letter of more than 20 MB.\n\n"
        "Before the first start, the installer asks for:\n\n"
        "- the name of the postmaster\n- a password of at least 12 characters\n- the folder for the queue"
    ),
    ("Postmaster", "Queues"): (
        "A queue is a folder on the disk. Letters wait there until the sorter has time. If the disk "
        "is full, the "
        "relay stops accepting letters. The cleaner removes letters that are older than 30 days, because the "
        "folder would grow without end. Most letters leave the queue within 2 seconds."
    ),
    ("Bread", "Rye sourdough"): (
        "The starter is fed with rye flour for three days. On the fourth day it smells of apples. "
        "The dough rests "
        "for 40 minutes before it is shaped. Do not add salt to the starter.\n\n"
        "You need:\n\n- 500 g of rye flour\n- 10 g of salt\n- 350 ml of warm water"
    ),
    ("Bread", "Rye sourdough", "Baking"): (
        "The oven is heated to 250 degrees. After 15 minutes the heat is lowered to 200 degrees. "
        "The loaf sounds hollow when it is done. It should cool for two hours, since warm bread "
        "cannot be sliced."
    ),
    ("The Kingdom of Varr", "The reign of Oswin"): (
        "Oswin took the throne in 1312 after the death of his uncle Harald. He moved the court from Lund to "
        "Aldby and lowered the tax on salt. The nobles of the north rebelled because the king had "
        "taken their "
        "forests. The rebellion lasted two years. Some villages were burned, but Aldby was never taken."
    ),
    ("The Kingdom of Varr", "The reign of Ingrid"): (
        "Ingrid was the daughter of Oswin. She signed the treaty of Marn in 1340. Under the treaty, the "
        "merchants of Lund paid no toll. The first university was founded by Bishop Anselm in Aldby. "
        "The plague reached the kingdom before the queen died."
    ),
    ("Birds of the Marsh", "The grey heron"): (
        "The grey heron stands up to 98 centimetres tall. It feeds mostly on fish. In winter it "
        "also takes voles. "
        "The female lays three to five eggs. Both parents feed the young."
    ),
    ("Birds of the Marsh", "The bittern"): (
        "The bittern is hard to see among the reeds. Its call can be heard five kilometres away. "
        "Only the male "
        "calls. Draining the marshes caused the decline of the bittern after 1950. Fewer than 40 "
        "pairs remain."
    ),
    ("Household insurance", "What is covered", "Water"): (
        "Damage by burst pipes is covered up to 50,000 crowns. The policy holder must report the "
        "damage within "
        "14 days. Damage by flood is not covered unless the house has a flood certificate.\n\n"
        "The insurer pays for:\n\n- drying the walls\n- a hotel for at most 30 nights\n- new floors"
    ),
    ("Household insurance", "Ending the contract"): (
        "The contract ends after one year. Either party may end it earlier with three months' notice. "
        "The insurer can also end it if a premium is not paid. Premiums that were paid in advance "
        "are returned."
    ),
    ("The Ferry Line", "Winter service"): (
        "The ferry leaves Skarvik at 7:40 and reaches Holm at 9:10. It carries 60 cars. From "
        "November to March "
        "there is no ferry on Sundays. When the ice is thick, the icebreaker Brage goes ahead. "
        "The captain decides whether the ferry sails."
    ),
    ("Mills", "The windmill"): (
        "The storm broke the great sail. It was mended by the smith in 1871. The miller paid the "
        "smith nine crowns. He left the village in spring. The old mill has two stones. The new "
        "mill has four.\n\nThe mayor bought the mill. \n\nIt burned down in 1890."
    ),
    ("Mills", "The watermill"): (
        "The mill does not grind:\n\n- wet rye\n- oats\n\nThe miller may sell one of:\n\n- flour\n- "
        "bran\n\nEvery farmer brings:\n\n- his own sacks\n- a penny for each sack"
    ),
    ("Engines", "The pump"): (
        "The main valve opens at 3 bar. The valve closes at 1 bar. The test valve is never used. If "
        "the pump is cold, it must run for 5 minutes. The pump, unlike the fan, needs oil."
    ),
    ("Engines", "The fan"): (
        "It turns 900 times a minute. Some fans have a guard. Their blades are made of brass. The "
        "guard may be removed."
    ),
}

TRUE: tuple[tuple[str, str, str], ...] = (
    ("How much memory does the relay need?", "s1", "The relay needs 512 MB of memory."),
    ("How much memory does the relay need?", "s1", "A machine with 512 MB of memory is needed by the relay."),
    ("Which port does the relay listen on?", "s2", "The relay listens on port 2525."),
    ("Which port does the relay listen on?", "s2", "It listens on port 2525."),
    ("Who gets the letters from the relay?", "s2", "The relay hands every letter to the sorter."),
    ("Who gets the letters from the relay?", "s2", "Every letter is handed to the sorter."),
    ("What may the sorter refuse?", "s3", "A letter of more than 20 MB may be refused by the sorter."),
    ("What does the installer ask for?", "s5", "The installer asks for the name of the postmaster."),
    ("How long must the password be?", "s6", "The installer asks for a password of at least 12 characters."),
    ("How long must the password be?", "s6", "The password has at least 12 characters."),
    ("Which folder is asked for?", "s7", "The installer asks for the folder for the queue."),
    ("What does the installer ask for?", "s4 s5", "The installer asks for the name of the postmaster."),
    ("What is a queue?", "s8", "A queue is a folder."),
    ("Where do letters wait?", "s9", "Letters wait in the queue until the sorter has time."),
    ("What happens if the disk is full?", "s10", "The relay stops accepting letters if the disk is full."),
    ("What happens if the disk is full?", "s10", "When the disk is full, the relay stops accepting letters."),
    ("Which letters are removed?", "s11", "The cleaner removes letters that are older than 30 days."),
    ("Which letters are removed?", "s11", "Letters older than 30 days are removed by the cleaner."),
    ("How long do letters stay?", "s12", "Most letters leave within 2 seconds."),
    ("What is the starter fed with?", "s13", "The starter is fed with rye flour."),
    ("What does the starter smell of?", "s14", "On the fourth day the starter smells of apples."),
    ("What does the starter smell of?", "s14", "The starter smells of apples on the fourth day."),
    ("How long does the dough rest?", "s15", "The dough rests for 40 minutes."),
    ("How long does the dough rest?", "s15", "Before it is shaped, the dough rests for 40 minutes."),
    ("How much flour is needed?", "s18", "You need 500 g of rye flour."),
    ("How much flour does rye sourdough need?", "s18", "Rye sourdough needs 500 g of rye flour."),
    ("How much salt does the bread need?", "s19", "10 g of salt are needed."),
    ("How much water do you need?", "s20", "You need 350 ml of warm water."),
    ("How hot is the oven?", "s21", "The oven is heated to 250 degrees."),
    ("What happens after 15 minutes?", "s22", "The heat is lowered to 200 degrees after 15 minutes."),
    ("When is the loaf done?", "s23", "When it is done, the loaf sounds hollow."),
    ("How long should the loaf cool?", "s24", "The loaf should cool for two hours."),
    (
        "Why should the loaf cool?",
        "s24",
        "The loaf should cool for two hours because warm bread cannot be sliced.",
    ),
    ("When did Oswin take the throne?", "s25", "Oswin took the throne in 1312."),
    ("Who was Harald?", "s25", "Harald was the uncle of Oswin."),
    ("Where did Oswin move the court?", "s26", "Oswin moved the court from Lund to Aldby."),
    ("Where did Oswin move the court?", "s26", "The court was moved from Lund to Aldby."),
    ("Which tax did Oswin lower?", "s26", "Oswin lowered the tax on salt."),
    ("Why did the nobles rebel?", "s27", "The nobles rebelled because the king had taken their forests."),
    ("How long did the rebellion last?", "s28", "The rebellion lasted two years."),
    (
        "How long did the rebellion of the nobles last?",
        "s28",
        "The rebellion of the nobles lasted two years.",
    ),
    ("Was Aldby taken?", "s29", "Aldby was never taken."),
    ("Was Aldby taken?", "s29", "No, Aldby was never taken."),
    ("Who was Ingrid?", "s30", "Ingrid was Oswin's daughter."),
    ("Who signed the treaty of Marn?", "s31", "Ingrid signed the treaty of Marn in 1340."),
    ("When was the treaty of Marn signed?", "s31", "The treaty of Marn was signed in 1340."),
    ("Who paid no toll?", "s32", "The merchants of Lund paid no toll under the treaty."),
    ("Who founded the first university?", "s33", "Bishop Anselm founded the first university in Aldby."),
    ("How tall is the grey heron?", "s35", "The grey heron is up to 98 centimetres tall."),
    ("What does the grey heron feed on?", "s36", "The grey heron feeds mostly on fish."),
    ("What does the heron take in winter?", "s37", "In winter, the heron also takes voles."),
    ("How many eggs does the grey heron lay?", "s38", "The female grey heron lays three to five eggs."),
    ("Who feeds the young?", "s39", "The young are fed by both parents."),
    (
        "How far can the bittern's call be heard?",
        "s41",
        "The call of the bittern can be heard five kilometres away.",
    ),
    ("Which bittern calls?", "s42", "Only the male bittern calls."),
    (
        "What caused the decline of the bittern?",
        "s43",
        "The decline of the bittern was caused by draining the marshes.",
    ),
    ("How many pairs of the bittern remain?", "s44", "Fewer than 40 pairs of the bittern remain."),
    ("How much is covered for burst pipes?", "s45", "Burst pipes are covered up to 50,000 crowns."),
    (
        "When must damage be reported?",
        "s46",
        "The damage must be reported by the policy holder within 14 days.",
    ),
    ("How long is a hotel paid for?", "s50", "The insurer pays for a hotel for at most 30 nights."),
    ("Which floors are paid for?", "s51", "The insurer pays for new floors."),
    ("When does the contract end?", "s52", "The contract ends after one year."),
    (
        "Who may end the contract earlier?",
        "s53",
        "Either party may end the contract earlier with three months' notice.",
    ),
    (
        "When can the insurer end the contract?",
        "s54",
        "The insurer can also end the contract if a premium is not paid.",
    ),
    ("When does the ferry leave Skarvik?", "s56", "The ferry leaves Skarvik at 7:40."),
    ("How many cars does the ferry carry?", "s57", "The ferry carries 60 cars."),
    ("When is there no ferry on Sundays?", "s58", "There is no ferry on Sundays from November to March."),
    (
        "What goes ahead of the ferry?",
        "s59",
        "The icebreaker Brage goes ahead of the ferry when the ice is thick.",
    ),
    ("Who decides whether the ferry sails?", "s60", "The captain decides whether the ferry sails."),
    ("How often does the fan turn?", "s83", "The fan turns 900 times a minute."),
    ("What does the mill not grind?", "s70 s71", "The mill does not grind wet rye and oats."),
    ("What does the mill not grind?", "s71", "The mill does not grind oats."),
    ("What does every farmer bring?", "s77", "Every farmer brings a penny for each sack."),
    (
        "What does every farmer bring?",
        "s76 s77",
        "Every farmer brings his own sacks and a penny for each sack.",
    ),
    ("When does the main valve close?", "s79", "The main valve closes at 1 bar."),
    ("What are the blades of fans made of?", "s85", "The blades are made of brass."),
)

UNTRUE: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "another one": (
        ("Which port does the sorter listen on?", "s2", "The sorter listens on port 2525."),
        ("Who signed the treaty of Marn?", "s31", "Oswin signed the treaty of Marn in 1340."),
        ("Who moved the court?", "s26", "Harald moved the court from Lund to Aldby."),
        ("Who founded the university?", "s33", "Ingrid founded the first university in Aldby."),
        ("Who decides?", "s60", "The icebreaker Brage decides whether the ferry sails."),
        ("Where did the court move?", "s26", "He moved the court from Aldby to Lund."),
        ("Who must report?", "s46", "The insurer must report the damage within 14 days."),
        ("Who removes letters?", "s11", "The sorter removes letters that are older than 30 days."),
        ("Who was Ingrid?", "s30", "Oswin was the daughter of Ingrid."),
    ),
    "a number": (
        ("Which port?", "s2", "The relay listens on port 2526."),
        (
            "How long must the password be?",
            "s6",
            "The installer asks for a password of at least 20 characters.",
        ),
        ("How much salt?", "s19", "You need 500 g of salt."),
        ("How much flour?", "s18", "You need 350 g of rye flour."),
        ("When must damage be reported?", "s46", "The damage must be reported within 30 days."),
        ("How long did the rebellion last?", "s28", "The rebellion lasted 12 years."),
        ("How many eggs?", "s38", "The female lays five to seven eggs."),
        ("When does the ferry leave Skarvik?", "s56", "The ferry leaves Skarvik at 9:10."),
    ),
    "a denial": (
        ("Is salt added to the starter?", "s16", "Salt is added to the starter."),
        ("Is salt added to the starter?", "s16", "Add salt to the starter."),
        ("Is flood covered?", "s47", "Damage by flood is covered."),
        ("Was Aldby taken?", "s29", "Aldby was taken."),
        ("Is there a ferry on Sundays?", "s58", "There is a ferry on Sundays from November to March."),
        ("Did the merchants pay toll?", "s32", "The merchants of Lund paid toll."),
        ("Was Aldby taken?", "s29", "Yes, Aldby was taken."),
        ("Are the letters accepted?", "s10", "If the disk is not full, the relay stops accepting letters."),
    ),
    "stronger than said": (
        ("What does the sorter refuse?", "s3", "The sorter refuses a letter of more than 20 MB."),
        ("How fast do letters leave?", "s12", "All letters leave the queue within 2 seconds."),
        ("How fast do letters leave?", "s12", "Letters leave the queue within 2 seconds."),
        ("What does the grey heron feed on?", "s36", "The grey heron feeds only on fish."),
        ("What does the grey heron feed on?", "s36", "The grey heron feeds on fish."),
        ("Were villages burned?", "s29", "The villages were burned."),
        ("Is flood not covered?", "s47", "Damage by flood is never covered."),
        ("How tall is the grey heron?", "s35", "The grey heron is 98 centimetres tall."),
        ("How many pairs remain?", "s44", "40 pairs of the bittern remain."),
        ("Must the contract end?", "s53", "Either party must end it earlier with three months' notice."),
        ("How long is a hotel paid for?", "s50", "The insurer pays for a hotel for 30 nights."),
    ),
    "cause and effect": (
        (
            "Why did the nobles rebel?",
            "s27",
            "The king had taken their forests because the nobles of the north rebelled.",
        ),
        (
            "Why were the marshes drained?",
            "s43",
            "The decline of the bittern caused draining the marshes after 1950.",
        ),
        (
            "Why are letters removed?",
            "s11",
            "The folder would grow without end because the cleaner removes letters.",
        ),
        ("Why is the disk full?", "s10", "If the relay stops accepting letters, the disk is full."),
        ("Why does bread cool?", "s24", "Warm bread cannot be sliced, since it should cool for two hours."),
        ("Why did the rebellion last?", "s28", "The rebellion lasted two years because of the tax on salt."),
        ("Why was the tax lowered?", "s26", "Oswin lowered the tax on salt because the nobles rebelled."),
    ),
    "the order of time": (
        ("When did the dough rest?", "s15", "The dough rests for 40 minutes after it is shaped."),
        (
            "When did Oswin take the throne?",
            "s25",
            "Oswin took the throne in 1312 before the death of his uncle Harald.",
        ),
        (
            "When did the plague reach the kingdom?",
            "s34",
            "The plague reached the kingdom after the queen died.",
        ),
        ("When did the queen die?", "s34", "The queen died before the plague reached the kingdom."),
        ("When is the heat lowered?", "s22", "Before 15 minutes the heat is lowered to 200 degrees."),
        (
            "When did the decline happen?",
            "s43",
            "Draining the marshes caused the decline of the bittern before 1950.",
        ),
        ("When does the starter smell of apples?", "s14", "On the third day it smells of apples."),
    ),
    "the question's words": (
        ("Does the encrypted relay listen on port 2525?", "s2", "The encrypted relay listens on port 2525."),
        (
            "Which port does the relay listen on for encrypted letters?",
            "s2",
            "It listens on port 2525 for encrypted letters.",
        ),
        (
            "How long does the dough rest in the fridge?",
            "s15",
            "The dough rests in the fridge for 40 minutes.",
        ),
        ("Did Oswin lower the tax on salt and wine?", "s26", "Oswin lowered the tax on salt and wine."),
        ("Why did Oswin cruelly burn villages?", "s29", "Oswin burned some villages."),
        ("Does the blue ferry carry 60 cars?", "s57", "The blue ferry carries 60 cars."),
        ("How many lorries and cars does the ferry carry?", "s57", "The ferry carries 60 lorries and cars."),
        ("How many eggs does the bittern lay?", "s38", "The female bittern lays three to five eggs."),
        ("Is the summer contract ended after one year?", "s52", "The summer contract ends after one year."),
        ("Which pairs of herons remain?", "s44", "Fewer than 40 pairs of herons remain."),
        (
            "When did the greedy king Oswin take the throne?",
            "s25",
            "The greedy king Oswin took the throne in 1312.",
        ),
    ),
    "through a heading": (
        ("Who rebelled?", "s27", "The reign of Oswin rebelled because the king had taken their forests."),
        ("What does the relay ask for?", "s6", "The relay asks for a password of at least 12 characters."),
        ("Who paid no toll?", "s32", "Ingrid paid no toll."),
        ("What decides?", "s60", "The winter service decides whether the ferry sails."),
        ("Who lays eggs?", "s39", "The grey heron feeds both parents."),
        ("What was founded?", "s33", "The Kingdom of Varr was founded by Bishop Anselm."),
        ("What pays?", "s50", "Water pays for a hotel for at most 30 nights."),
        ("What is older than 30 days?", "s11", "The cleaner removes queues that are older than 30 days."),
        ("What reached the kingdom?", "s34", "Ingrid reached the kingdom before the queen died."),
        ("What does bread need?", "s15", "The bread rests for 40 minutes before it is shaped."),
    ),
    "what stands around it": (
        ("Who left the village?", "s64", "The smith left the village in spring."),
        ("What was mended?", "s62", "The storm was mended by the smith in 1871."),
        ("When did the mayor burn down?", "s68", "The mayor burned down in 1890."),
        ("When did the storm burn down?", "s68", "The storm burned down in 1890."),
        ("Does the mill grind oats?", "s71", "The mill grinds oats."),
        ("Does the mill grind oats?", "s71", "Oats are ground by the mill."),
        ("Does the mill grind wet rye and oats?", "s70 s71", "The mill grinds wet rye and oats."),
        ("What may the miller sell?", "s73 s74", "The miller may sell flour and bran."),
        ("What does the miller sell?", "s73", "The miller sells flour."),
        ("What does the mayor bring?", "s77", "The mayor brings a penny for each sack."),
        ("What does the miller bring?", "s77", "The miller brings a penny for each sack."),
        ("What do farmers bring?", "s76", "Every farmer brings the miller's own sacks."),
        ("When does the test valve close?", "s79", "The test valve closes at 1 bar."),
        ("When does the main valve open in the fan?", "s78", "The main valve opens in the fan at 3 bar."),
        ("How long must the pump run?", "s81", "The pump must run for 5 minutes."),
        ("What needs oil?", "s82", "The fan needs oil."),
        ("How often does the pump turn?", "s83", "The pump turns 900 times a minute."),
        ("What are the blades of the guard made of?", "s85", "The guard's blades are made of brass."),
        ("Are blades brass?", "s85", "Some blades are made of brass."),
        ("How many stones has the new mill?", "s65", "The new mill has two stones."),
        ("How many stones has the old mill?", "s66", "The old mill has four."),
        ("Who paid the smith?", "s63", "The smith paid nine crowns."),
        ("Who was paid by the mayor?", "s63", "The mayor paid the smith nine crowns."),
        ("Is the guard of the pump removed?", "s86", "The guard of the pump may be removed."),
        ("Who mended the windmill?", "s62", "The windmill was mended by the smith in 1871."),
        ("How often does the engine turn?", "s83", "Engines turn 900 times a minute."),
    ),
    "two sentences into one": (
        (
            "What did the nobles take?",
            "s27 s33",
            "The king had taken their forests and the first university.",
        ),
        ("Who took the throne?", "s30 s25", "Ingrid and Oswin took the throne in 1312."),
        (
            "What does the relay need?",
            "s1 s8",
            "The relay needs a machine with 512 MB of memory and a folder.",
        ),
        (
            "What does the insurer pay for?",
            "s51 s18",
            "The insurer pays for new floors and 500 g of rye flour.",
        ),
        ("Who decides?", "s59 s60", "The icebreaker Brage and the captain decide whether the ferry sails."),
        ("What rests?", "s21 s15", "The oven and the dough rest for 40 minutes."),
        ("What is covered?", "s45 s49", "Burst pipes and drying the walls are covered up to 50,000 crowns."),
        ("Who feeds the young?", "s40 s39", "The bittern and both parents feed the young."),
    ),
}
