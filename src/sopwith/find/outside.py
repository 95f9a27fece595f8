"""Requests that people make to any assistant, and that no procedure of a company is for."""

from __future__ import annotations

from sopwith.find.entry import Entry

ENGLISH = """\
Tell me a joke
What is the weather like today
Will it rain at the weekend
How do I cook pasta
Give me a recipe for a cake
Translate this sentence into French
What does this word mean in English
Write a poem about the sea
Write a short story for children
Who was the first president of the United States
When did the Second World War end
What is the capital of Australia
How tall is the Eiffel Tower
Explain how a rainbow forms
What is quantum physics
Solve this equation
How much is 15 times 23
Fix the bug in my code
Write a function that sorts a list
How do I install Linux
Recommend a good film
Which book should I read next
What music do you like
Who won the football match yesterday
When is the next World Cup
Find a restaurant near me
Reserve a table for dinner
Where can I buy cheap shoes
Which phone is the best
Should I invest in shares
What is the price of bitcoin
How do I lose weight
I have a headache, what helps
Which medicine is good for a cold
How do I train my dog
What should I name my cat
How do I clean a carpet
How do I grow tomatoes
My girlfriend left me, I am sad
Do you love me
What is the meaning of life
Are you a human
How do I make friends
What can I do in Paris on holiday
How do I renew my passport
How do I get a driving licence
May my landlord raise the rent
I want a divorce, what are my rights
How do I file my tax return
Help me with my homework
How do I learn Spanish
Sing a song
Play some music
Set an alarm for seven
Who are you and what can you do
What time is it in Tokyo
What happened in the news today
Horoscope for today
How far away is the moon
Good morning, how are you
""".splitlines()

CHINESE = """\
讲个笑话
今天天气怎么样
周末会下雨吗
番茄炒蛋怎么做
推荐一道家常菜
把这句话翻译成英文
这个成语是什么意思
写一首关于春天的诗
给孩子编一个睡前故事
唐朝是哪一年建立的
中国最长的河是哪条
世界上最高的山是什么
为什么天空是蓝色的
解一下这道数学题
一百二十乘以八等于多少
帮我写一段排序代码
电脑怎么装系统
推荐一部好看的电影
有什么好听的歌
最近什么书好看
昨晚球赛谁赢了
附近有什么好吃的
帮我订一家餐厅
哪款手机性价比高
现在买什么股票好
怎么减肥最快
头疼吃什么药
孩子发烧怎么办
怎么养猫
给宝宝起个名字
衣服上的油渍怎么洗
怎么种花
失恋了很难过
你喜欢我吗
人生的意义是什么
你是机器人吗
去云南旅游怎么安排
护照怎么办理
怎么考驾照
房东涨房租合法吗
离婚财产怎么分
个税怎么申报
帮我做作业
怎么学好英语
唱首歌
放点音乐
明天早上七点叫我
你是谁，能做什么
现在纽约几点
今天有什么新闻
今天的星座运势
月亮离地球多远
早上好，最近怎么样
""".splitlines()


def outside_entries() -> list[Entry]:
    """The same as entries of an index: what fits one of them better than any procedure is none's."""
    return [Entry(kind="outside", id=text, examples=(text,)) for text in (*ENGLISH, *CHINESE)]
