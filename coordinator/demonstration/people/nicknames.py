"""Short forms under which people give their names."""

from __future__ import annotations

_FORMS = """
Alexander Alex Sandy; Andrew Andy Drew; Anthony Tony; Arthur Art; Benjamin Ben; Bernard Bernie; Bradley Brad;
Charles Charlie Chuck; Christopher Chris Kit; Clifford Cliff; Daniel Dan Danny; David Dave; Dennis Denny;
Donald Don Donnie; Douglas Doug; Edward Ed Eddie Ted; Eugene Gene; Francis Frank; Franklin Frank; Frederick Fred;
Gerald Gerry; Gregory Greg; Harold Harry Hal; Henry Harry Hank; Jacob Jake; James Jim Jimmy; Jeffrey Jeff;
Jerome Jerry; John Jack Johnny; Jonathan Jon; Joseph Joe Joey; Joshua Josh; Kenneth Ken Kenny; Lawrence Larry;
Leonard Len Lenny; Louis Lou; Matthew Matt; Michael Mike Mick; Nathan Nate; Nicholas Nick; Patrick Pat Paddy;
Peter Pete; Philip Phil; Phillip Phil; Raymond Ray; Richard Dick Rick Rich; Robert Bob Bobby Rob; Roger Rodge;
Ronald Ron Ronnie; Russell Russ; Samuel Sam; Stanley Stan; Stephen Steve; Steven Steve; Terrence Terry;
Theodore Theo Ted; Thomas Tom Tommy; Timothy Tim; Vincent Vince; Walter Walt Wally; William Will Bill Billy;
Zachary Zack; Abigail Abby; Alice Allie; Amanda Mandy; Angela Angie; Ann Annie; Anna Annie; Barbara Barb Babs;
Beverly Bev; Carolyn Carol; Catherine Cathy Kate; Charlotte Lottie; Christina Chris Tina; Christine Chris Tina;
Constance Connie; Cynthia Cindy; Deborah Deb Debbie; Debra Deb Debbie; Dorothy Dot Dolly; Eleanor Nell Ellie;
Elizabeth Liz Beth Betty; Emily Em; Florence Flo; Frances Fran; Gertrude Gertie; Gloria Glo; Jacqueline Jackie;
Janet Jan; Jennifer Jen Jenny; Jessica Jess; Josephine Jo Josie; Judith Judy; Julia Julie; Katherine Kate Kathy;
Kathleen Kath Kathy; Kimberly Kim; Laura Laurie; Lillian Lily; Linda Lindy; Margaret Maggie Peggy Meg;
Martha Marty; Mary Molly Polly; Melissa Missy Mel; Mildred Millie; Nancy Nan; Pamela Pam; Patricia Pat Trish;
Rebecca Becky; Rose Rosie; Ruth Ruthie; Samantha Sam; Sandra Sandy; Sarah Sally; Sharon Shari; Stephanie Steph;
Susan Sue Susie; Teresa Terry Tess; Theresa Terry Tess; Valerie Val; Victoria Vicky; Virginia Ginny; Yvonne Eve
"""

#: Given name to its short forms.
NICKNAMES: dict[str, tuple[str, ...]] = {
    name: tuple(short) for name, *short in (entry.split() for entry in _FORMS.split(";"))
}
